//! Codes to rows: what rows with such codes look like.
//!
//! | a model of | a row is |
//! |---|---|
//! | parts with states | `Σ_k g_dk Σ_j m_kj μ_kjd` |
//! | parts with factors | `Σ_k g_dk (ρ_kd + Σ_f z_kf λ_kdf)` |
//! | parts that add up | `c_d + Σ_k (Σ_j m_kj μ_kjd - c_d)`, where `c` is the mean row |
//! | components | `μ_d + Σ_n z_n w_nd`, with `z_n √λ_n` for `z_n` if codes are whitened |
//! | binary features | `o_md + Σ_i s_mi f_mid` of the set m that the last number names |
//! | layers | `Σ_p r_p β_pd`, where `β_p` is the mean of path p |

use mereo_core::{Appearance, ComponentsView, Dense, Error, Place, Real, Result};

use super::Fitted;
use crate::data_of::check_fits;

impl Fitted {
    /// The rows that codes stand for, in the data's units: the way back from
    /// [`encode`](Self::encode).
    ///
    /// ```
    /// # use mereo::{Context, Dense, Fit, Table, linear::PcaParams};
    /// let table = Table::from(Dense::new(3, 2, vec![0.0f64, 1.0, 2.0, 5.0, 4.0, 9.0])?);
    /// let fitted = Fit::new(PcaParams::new(1)).run(&table)?;
    /// let codes = fitted.encode(&table, &Context::new(0))?;
    /// let mereo::Cells::Dense(codes) = codes.cells() else { unreachable!("codes are dense") };
    /// let rows = fitted.decode(codes)?;
    /// assert!((rows.row(1)[1] - 5.0).abs() < 1e-9);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn decode<T: Real>(&self, codes: &Dense<T>) -> Result<Dense<T>> {
        let encoder = self.model.encoder::<T>().ok_or_else(|| self.incapable("decode"))?;
        let columns = self.model.columns();
        if codes.columns() != encoder.code_width() {
            return Err(Error::found(
                Place::default(),
                format!("codes of {} numbers", codes.columns()),
                format!("the {} numbers of this model's codes", encoder.code_width()),
            ));
        }
        check_fits(codes.rows(), columns, size_of::<f64>())?;
        let way = self.way_back(encoder.code_width())?;
        let mut rows = vec![0.0; codes.rows() * columns];
        let mut code = vec![0.0; codes.columns()];
        for (index, row) in rows.chunks_mut(columns.max(1)).enumerate() {
            for (to, from) in code.iter_mut().zip(codes.row(index)) {
                *to = from.to_f64();
            }
            way.write(&code, row).map_err(|place| match place {
                Error::Data { found, expected, .. } => {
                    Error::found(Place::at_row(index), found, expected)
                }
                other => other,
            })?;
        }
        self.undo(&mut rows)?;
        Dense::of_results(codes.rows(), columns, rows.into_iter().map(T::from_f64).collect())
    }

    /// How codes become rows.
    fn way_back(&self, width: usize) -> Result<Way> {
        let columns = self.model.columns();
        if let Some(features) = self.model.features() {
            let (n, sets) = (features.features(), features.sets());
            // A model of binary data says what it makes of sums; its features do not.
            let linear = features.appearance(0, 0) == features.origin()[..columns];
            if linear && width == n * sets + 1 {
                return Ok(Way::Features {
                    features: n,
                    origin: features.origin().to_vec(),
                    feature: features.feature().to_vec(),
                });
            }
        }
        if let Some(layers) = self.model.layers()
            && layers.path_mean().len() == width * columns
        {
            return Ok(Way::sum(vec![0.0; columns], layers.path_mean().to_vec()));
        }
        if let Some(view) = self.model.components()
            && view.component.len() == width * columns
        {
            return Ok(self.of_components(&view));
        }
        let Some(view) = self.model.parts() else { return Err(self.incapable("decode")) };
        let gate = |part: usize, d: usize| view.gate_of(d)[part];
        let mut base = vec![0.0; columns];
        let mut looks = Vec::with_capacity(width * columns);
        match view.appearance {
            Appearance::States if view.parts * view.states == width => {
                for (part, state) in
                    (0..view.parts).flat_map(|k| (0..view.states).map(move |j| (k, j)))
                {
                    let mean = view.state(part, state);
                    looks.extend(mean.iter().enumerate().map(|(d, mean)| gate(part, d) * mean));
                }
            }
            Appearance::Sums if view.parts * view.states == width => {
                let prior = &view.state_prior[..view.states];
                for (d, base) in base.iter_mut().enumerate() {
                    *base = (0..view.states).map(|j| prior[j] * view.state(0, j)[d]).sum();
                }
                looks.extend(view.mean.chunks(columns.max(1)).flat_map(|look| {
                    look.iter().zip(&base).map(|(look, base)| look - base).collect::<Vec<_>>()
                }));
            }
            Appearance::Factors if view.parts * (view.states / 2) == width => {
                for part in 0..view.parts {
                    for (d, base) in base.iter_mut().enumerate() {
                        *base += gate(part, d) * view.state(part, 0)[d];
                    }
                    // Looks are two deviations up and down each factor.
                    for f in 0..view.states / 2 {
                        let (up, down) = (view.state(part, 1 + 2 * f), view.state(part, 2 + 2 * f));
                        looks.extend((0..columns).map(|d| gate(part, d) * (up[d] - down[d]) / 4.0));
                    }
                }
            }
            _ => return Err(self.incapable("decode")),
        }
        Ok(Way::sum(base, looks))
    }

    fn of_components(&self, view: &ComponentsView<'_>) -> Way {
        let columns = self.model.columns();
        let mean = view.mean.map_or_else(|| vec![0.0; columns], <[f64]>::to_vec);
        let mut component = view.component.to_vec();
        let whitened = self.manifest.params.get("whiten") == Some(&serde_json::Value::Bool(true));
        if let Some(variance) = view.explained_variance.filter(|_| whitened) {
            for (row, variance) in component.chunks_mut(columns.max(1)).zip(variance) {
                row.iter_mut().for_each(|w| *w *= variance.sqrt());
            }
        }
        Way::sum(mean, component)
    }
}

/// How a code becomes a row.
enum Way {
    /// The base, and as much of each look as the code says.
    Sum { base: Vec<f64>, looks: Vec<f64> },
    /// The origin of the set that the last number names, and those of its features that are on.
    Features { features: usize, origin: Vec<f64>, feature: Vec<f64> },
}

impl Way {
    fn sum(base: Vec<f64>, looks: Vec<f64>) -> Self {
        Self::Sum { base, looks }
    }

    fn write(&self, code: &[f64], row: &mut [f64]) -> Result<()> {
        let columns = row.len().max(1);
        let mut add = |amounts: &[f64], looks: &[f64]| {
            for (amount, look) in amounts.iter().zip(looks.chunks(columns)) {
                if *amount != 0.0 {
                    row.iter_mut().zip(look).for_each(|(x, look)| *x += amount * look);
                }
            }
        };
        match self {
            Self::Sum { base, looks } => {
                add(&[1.0], base);
                add(code, looks);
            }
            Self::Features { features, origin, feature } => {
                let (on, set) = code.split_at(code.len() - 1);
                let sets = on.len() / (*features).max(1);
                let set = (0..sets).find(|&s| s as f64 == set[0]).ok_or_else(|| {
                    let expected = format!("the number of a set, from 0 to {}", sets - 1);
                    Error::found(Place::default(), format!("{} for the set", set[0]), expected)
                })?;
                add(&[1.0], &origin[set * columns..(set + 1) * columns]);
                let own = set * features..(set + 1) * features;
                add(&on[own.clone()], &feature[own.start * columns..own.end * columns]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::{Cells, Context, Options, ParamType, Table};
    use mereo_testing::{blobs, table};
    use serde_json::json;

    use crate::{Fit, Fitted};

    fn learned(name: &str, rows: &Table<f64>, more: &[(&str, serde_json::Value)]) -> Fitted {
        let mut options = Options::new();
        for info in crate::model(name).unwrap().params() {
            match (&info.kind, &info.default) {
                (ParamType::Count, None) => options.insert(info.name.into(), json!(2)),
                (ParamType::Counts, None) => options.insert(info.name.into(), json!([2, 2])),
                (ParamType::CountOr(_), Some(auto)) if auto == "auto" => {
                    options.insert(info.name.into(), json!(2))
                }
                _ => None,
            };
        }
        options.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        Fit::named(name, &options).unwrap().restarts(1).passes(10).seed(2).run(rows).unwrap()
    }

    /// What a row is made into, and what its code says, are the same of a row without holes.
    fn there_and_back(fitted: &Fitted, rows: &Table<f64>) {
        let context = Context::new(0);
        let codes = fitted.encode(rows, &context).unwrap();
        let Cells::Dense(codes) = codes.cells() else { panic!("codes are dense") };
        let back = fitted.decode(codes).unwrap();
        let made = fitted.reconstruct(rows, false, &context).unwrap();
        for (a, b) in back.values().iter().zip(made.values()) {
            assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{}: {a} {b}", fitted.model.kind());
        }
    }

    #[test]
    fn codes_lead_back_to_what_rows_are_made_into() {
        let cells: Vec<f64> = blobs(300, 4, 3, 1).iter().map(|x| x + 40.0).collect();
        let rows = table::<f64>(4, &cells);
        for kind in crate::models() {
            let fitted = learned(kind.name, &rows, &[]);
            if [
                "mcvq", "mcfa", "vq", "gmm", "student", "deep-gmm", "pca", "ppca", "fa", "nmf",
                "gvq", "cvq",
            ]
            .contains(&kind.name)
            {
                there_and_back(&fitted, &rows);
            }
        }
        there_and_back(&learned("pca", &rows, &[("whiten", json!(true))]), &rows);
    }
}
