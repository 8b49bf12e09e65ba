//! What auto-encoders have to show: what lies between rows, a grid over codes of two numbers, filters.

use mereo_core::{Context, Dense, Picture, Result, Table};
use mereo_neural::{Ae, Vae};
use mereo_report::Gallery;

use crate::Fitted;

/// Pairs of rows, and steps from one to the other.
const PAIRS: usize = 6;
const STEPS: usize = 10;
/// Places along each side of the grid, and how far it reaches where codes are normal numbers.
const SIDE: usize = 12;
const REACH: f64 = 2.0;
/// Most filters.
const FILTERS: usize = 60;

/// Galleries of a model's own; none of a model that is no network.
#[derive(Debug, Default)]
pub(super) struct Networks {
    between: Option<Dense<f64>>,
    grid: Option<Dense<f64>>,
    /// Filters, and the shape of those that do not see whole rows.
    filters: Option<(Dense<f64>, Option<Picture>)>,
}

impl Networks {
    pub(super) fn of(
        fitted: &Fitted,
        rows: Option<&Dense<f64>>,
        context: &Context,
    ) -> Result<Self> {
        if fitted.manifest.picture.is_none() {
            return Ok(Self::default());
        }
        let (ae, vae) = (fitted.model.downcast_ref::<Ae>(), fitted.model.downcast_ref::<Vae>());
        let Some((code, filters)) = ae
            .map(|model| (model.code(), model.filters()))
            .or_else(|| vae.map(|model| (model.code(), model.filters())))
        else {
            return Ok(Self::default());
        };
        let columns = fitted.model.columns();
        let decode = |codes: &[f64]| -> Result<Dense<f64>> {
            let mut made = match (ae, vae) {
                (Some(model), _) => model.decode(codes),
                (_, Some(model)) => model.decode(codes),
                _ => Vec::new(),
            };
            fitted.undo(&mut made)?;
            Dense::new(codes.len() / code, columns, made)
        };
        // Codes that are stored by codebooks are numbers of entries: nothing lies between them.
        let stored = ae.is_some_and(|ae| ae.usage().is_some());
        let codes = match rows.filter(|_| !stored) {
            Some(rows) => {
                let codes = fitted.encode(&Table::from(rows.clone()), context)?;
                Some(super::in_full(&codes)?)
            }
            None => None,
        };
        let between = match &codes {
            Some(codes) if codes.rows() > 1 => {
                let mut line = Vec::new();
                for pair in 0..(codes.rows() / 2).min(PAIRS) {
                    let (from, to) = (codes.row(2 * pair), codes.row(2 * pair + 1));
                    for step in 0..STEPS {
                        let share = step as f64 / (STEPS - 1) as f64;
                        line.extend(from.iter().zip(to).map(|(a, b)| a + share * (b - a)));
                    }
                }
                Some(decode(&line)?)
            }
            _ => None,
        };
        let grid = match &codes {
            Some(codes) if code == 2 => {
                let reach = |i: usize| -> (f64, f64) {
                    let own = codes.values().iter().skip(i).step_by(2);
                    if vae.is_some() {
                        return (-REACH, REACH);
                    }
                    own.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &z| (l.min(z), h.max(z)))
                };
                let (x, y) = (reach(0), reach(1));
                let at = |(low, high): (f64, f64), place: usize| {
                    low + (high - low) * place as f64 / (SIDE - 1) as f64
                };
                let places =
                    (0..SIDE * SIDE).flat_map(|p| [at(x, p % SIDE), at(y, SIDE - 1 - p / SIDE)]);
                Some(decode(&places.collect::<Vec<_>>())?)
            }
            _ => None,
        };
        let filters = match filters {
            Some(filters) => {
                let seen =
                    filters.patch.and_then(|patch| patch.columns()).unwrap_or(columns).max(1);
                let shown = (filters.weights.len() / seen).min(FILTERS);
                let rows = Dense::new(shown, seen, filters.weights[..shown * seen].to_vec())?;
                Some((rows, filters.patch))
            }
            None => None,
        };
        Ok(Self { between, grid, filters })
    }

    pub(super) fn shown(&self) -> Vec<Gallery<'_>> {
        let mut all = Vec::new();
        if let Some(rows) = &self.between {
            all.push(Gallery {
                id: "between",
                short: "Between rows",
                heading: "From one row to another",
                about: "Each line leads from one row's code to another's, along a straight line: what the decoder \
                    makes of the codes between them.",
                rows,
                across: STEPS,
                signed: false,
                picture: None,
            });
        }
        if let Some(rows) = &self.grid {
            all.push(Gallery {
                id: "grid",
                short: "Grid of codes",
                heading: "What each code decodes to",
                about: "The code has two numbers: the first rises from left to right, the second from bottom to top.",
                rows,
                across: SIDE,
                signed: false,
                picture: None,
            });
        }
        if let Some((rows, picture)) = &self.filters {
            all.push(Gallery {
                id: "filters",
                short: "Filters",
                heading: "What the first layer looks for",
                about: "The weights of the encoder's first layer, each picture in its own scale: grey is 0.",
                rows,
                across: 12,
                signed: true,
                picture: *picture,
            });
        }
        all
    }
}
