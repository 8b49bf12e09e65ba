//! A field on any graph: variables with their own numbers of labels, a table an edge.

use mereo_core::{Error, Place, Result};

use crate::{Link, Pairwise};

/// Most numbers that the tables of a field may have in all.
const MOST_NUMBERS: usize = 1 << 28;
/// Log potentials beyond this magnitude are refused: sums of them would lose what tells states apart.
const MOST_POTENTIAL: f64 = 1e12;

/// A pairwise field on any graph.
///
/// ```
/// use mereo_field::{Field, Pairwise, infer};
/// let mut field = Field::new(vec![vec![0.0, 1.0], vec![0.0, 0.0, 0.5]])?;
/// field.couple(0, 1, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0])?;
/// assert_eq!(field.score(&[1, 1]), 2.0);
/// let exact = infer::enumerate(&field)?;
/// assert!(exact.marginals.of(0)[1] > 0.5);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Field {
    unary: Vec<Vec<f64>>,
    edges: Vec<Edge>,
    /// Of each variable, the edges that it is an end of.
    links: Vec<Vec<Link>>,
}

/// A table `[labels of first, labels of second]` between two variables.
#[derive(Debug, Clone, PartialEq)]
struct Edge {
    table: Vec<f64>,
    /// Labels of the second end.
    width: usize,
}

impl Field {
    /// A field of variables with these log potentials and no edges.
    pub fn new(unary: Vec<Vec<f64>>) -> Result<Self> {
        for (i, values) in unary.iter().enumerate() {
            if values.is_empty() {
                return Err(wrong(i, "no label", "at least 1 label"));
            }
            if let Some(value) = values.iter().find(|v| !(v.abs() <= MOST_POTENTIAL)) {
                return Err(wrong(i, format!("the log potential {value:e}"), finite()));
            }
        }
        let links = vec![Vec::new(); unary.len()];
        Ok(Self { unary, edges: Vec::new(), links })
    }

    /// Couples two variables by a table of log potentials, a row for each label of the first.
    /// Couplings of the same two add up.
    ///
    /// ```
    /// let mut field = mereo_field::Field::new(vec![vec![0.0; 2]; 2])?;
    /// assert!(field.couple(0, 2, vec![0.0; 4]).unwrap_err().to_string().contains("variable 2"));
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn couple(&mut self, first: usize, second: usize, table: Vec<f64>) -> Result<()> {
        let edge = self.edges.len();
        for end in [first, second] {
            if end >= self.unary.len() {
                let found = format!("variable {end} as an end of edge {edge}");
                let expected = format!("variables below {}", self.unary.len());
                return Err(Error::found(Place::default(), found, expected));
            }
        }
        let said = |found: String, expected: String| {
            let place = format!("edge {edge} between variables {first} and {second}: {found}");
            Err(Error::found(Place::default(), place, expected))
        };
        if first == second {
            return said("an edge from a variable to itself".into(), "two variables".into());
        }
        let (rows, width) = (self.unary[first].len(), self.unary[second].len());
        if table.len() != rows * width {
            let expected = format!("{} ({rows} rows of {width})", rows * width);
            return said(format!("a table of {} numbers", table.len()), expected);
        }
        if let Some(value) = table.iter().find(|v| !(v.abs() <= MOST_POTENTIAL)) {
            return said(format!("the log potential {value:e}"), finite());
        }
        let numbers: usize = self.edges.iter().map(|e| e.table.len()).sum();
        if numbers + table.len() > MOST_NUMBERS {
            return said("too large a field".into(), format!("at most {MOST_NUMBERS} numbers"));
        }
        let known = self.links[first].iter().find(|link| link.to == second).copied();
        if let Some(link) = known {
            let there = &mut self.edges[link.edge];
            for (at, value) in table.into_iter().enumerate() {
                let (m, n) = (at / width, at % width);
                let at = if link.forward { at } else { n * there.width + m };
                there.table[at] += value;
            }
            return Ok(());
        }
        self.edges.push(Edge { table, width });
        self.links[first].push(Link { edge, to: second, forward: true });
        self.links[second].push(Link { edge, to: first, forward: false });
        Ok(())
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// The field of the hidden variables given the observed ones, `P(H | X)`: what an observed
    /// neighbour tells goes into the hidden variable's own potential.
    ///
    /// ```
    /// use mereo_field::{Field, Pairwise};
    /// let mut field = Field::new(vec![vec![0.0, 0.0]; 2])?;
    /// field.couple(0, 1, vec![1.0, -1.0, -1.0, 1.0])?;
    /// let given = field.given(&[None, Some(1)])?;
    /// assert_eq!(given.field.unary(0), [-1.0, 1.0]);
    /// assert_eq!(given.hidden, [0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn given(&self, observed: &[Option<usize>]) -> Result<Given> {
        assert_eq!(observed.len(), self.variables(), "an entry for each variable");
        let mut place = vec![usize::MAX; self.variables()];
        let (mut hidden, mut unary, mut constant) = (Vec::new(), Vec::new(), 0.0);
        for (i, label) in observed.iter().enumerate() {
            if let Some(label) = *label {
                let Some(value) = self.unary[i].get(label) else {
                    let expected = format!("a label below {}", self.labels(i));
                    return Err(wrong(i, format!("the observed label {label}"), expected));
                };
                constant += value;
            } else {
                place[i] = hidden.len();
                hidden.push(i);
                unary.push(self.unary[i].clone());
            }
        }
        let mut field = Self { links: vec![Vec::new(); unary.len()], unary, edges: Vec::new() };
        self.for_each_edge(|i, link| match (observed[i], observed[link.to]) {
            (Some(m), Some(n)) => constant += self.pair(link, m, n),
            (Some(m), None) => {
                let out = &mut field.unary[place[link.to]];
                self.add_given(link.reversed(i), m, out);
            }
            (None, Some(n)) => self.add_given(link, n, &mut field.unary[place[i]]),
            (None, None) => {
                let edge = field.edges.len();
                let (a, b) = (place[i], place[link.to]);
                field.edges.push(self.edges[link.edge].clone());
                field.links[a].push(Link { edge, to: b, forward: true });
                field.links[b].push(Link { edge, to: a, forward: false });
            }
        });
        Ok(Given { field, hidden, constant })
    }
}

/// What is left of a field when some variables were observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The field of the hidden variables.
    pub field: Field,
    /// Which variables they are.
    pub hidden: Vec<usize>,
    /// What the observed variables score by themselves: `log Σ_H exp s(H, X)` is this much more than
    /// the log Z of the field.
    pub constant: f64,
}

fn finite() -> String {
    format!("a finite number of magnitude at most {MOST_POTENTIAL:e}")
}

fn wrong(
    variable: usize,
    found: impl std::fmt::Display,
    expected: impl std::fmt::Display,
) -> Error {
    Error::found(Place::default(), format!("variable {variable}: {found}"), expected)
}

impl Pairwise for Field {
    fn variables(&self) -> usize {
        self.unary.len()
    }

    fn labels(&self, variable: usize) -> usize {
        self.unary[variable].len()
    }

    fn unary(&self, variable: usize) -> &[f64] {
        &self.unary[variable]
    }

    fn links(&self, variable: usize) -> impl Iterator<Item = Link> + '_ {
        self.links[variable].iter().copied()
    }

    fn pair(&self, link: Link, label: usize, other: usize) -> f64 {
        let edge = &self.edges[link.edge];
        let (m, n) = if link.forward { (label, other) } else { (other, label) };
        edge.table[m * edge.width + n]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn couplings_of_the_same_two_add_up_from_either_side() {
        let mut field = Field::new(vec![vec![0.0; 2], vec![0.0; 3]]).unwrap();
        field.couple(0, 1, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        field.couple(1, 0, vec![10.0, 20.0, 30.0, 40.0, 50.0, 60.0]).unwrap();
        assert_eq!(field.edges(), 1);
        assert_eq!(field.score(&[1, 2]), 6.0 + 60.0);
        assert_eq!(field.score(&[0, 1]), 2.0 + 30.0);
    }

    #[test]
    fn what_is_no_field_is_said() {
        assert!(Field::new(vec![vec![]]).is_err());
        assert!(Field::new(vec![vec![f64::NAN]]).is_err());
        let mut field = Field::new(vec![vec![0.0; 2]; 2]).unwrap();
        assert!(field.couple(0, 0, vec![0.0; 4]).is_err());
        assert!(field.couple(0, 1, vec![0.0; 3]).is_err());
        assert!(field.couple(0, 1, vec![0.0, f64::INFINITY, 0.0, 0.0]).is_err());
        assert!(field.given(&[Some(2), None]).is_err());
    }

    #[test]
    fn scores_of_hidden_and_observed_add_up() {
        let mut field =
            Field::new(vec![vec![0.3, 0.1], vec![0.2, 0.7, 0.0], vec![1.0, 2.0]]).unwrap();
        field.couple(0, 1, vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).unwrap();
        field.couple(2, 1, vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).unwrap();
        field.couple(2, 0, vec![0.1, 0.9, 0.3, 0.4]).unwrap();
        let given = field.given(&[Some(1), None, None]).unwrap();
        for n in 0..3 {
            for k in 0..2 {
                let whole = field.score(&[1, n, k]);
                let parts = given.constant + given.field.score(&[n, k]);
                assert!((whole - parts).abs() < 1e-12);
            }
        }
    }
}
