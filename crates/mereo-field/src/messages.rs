//! Messages along edges: two for each, kept with the variable that receives them.

use mereo_core::{Error, Result};

use crate::{Link, Pairwise};

/// Most numbers that messages may take: 8 GB of them.
const MOST_NUMBERS: usize = 1 << 30;

/// The messages that every variable received, by its links in their order.
pub(crate) struct Messages {
    values: Vec<f64>,
    /// Where the messages of a variable begin.
    starts: Vec<usize>,
    /// For each link in order of variables: which link of the neighbour leads back.
    back: Vec<u32>,
    /// Where the links of a variable begin.
    links: Vec<usize>,
}

impl Messages {
    /// All zero.
    pub(crate) fn new<F: Pairwise>(field: &F) -> Result<Self> {
        let n = field.variables();
        let (mut starts, mut links, mut numbers, mut count) =
            (Vec::with_capacity(n + 1), Vec::with_capacity(n + 1), 0usize, 0);
        for i in 0..n {
            starts.push(numbers);
            links.push(count);
            let degree = field.links(i).count();
            numbers += degree * field.labels(i);
            count += degree;
        }
        if numbers > MOST_NUMBERS {
            let problem = format!(
                "messages would take {:.0} GB of memory; choose mean-field or icm",
                numbers as f64 * 8e-9
            );
            return Err(Error::option("method", problem));
        }
        links.push(count);
        starts.push(numbers);
        let mut back = vec![0; count];
        for i in 0..n {
            for (k, link) in field.links(i).enumerate() {
                let there = field.links(link.to).position(|l| l.edge == link.edge && l.to == i);
                back[links[i] + k] = there.expect("an edge has two ends") as u32;
            }
        }
        Ok(Self { values: vec![0.0; numbers], starts, back, links })
    }

    /// The message that a variable of this many labels received along its k-th link.
    pub(crate) fn received(&self, variable: usize, k: usize, labels: usize) -> &[f64] {
        let start = self.starts[variable] + k * labels;
        &self.values[start..start + labels]
    }

    /// The message that a variable sends along its k-th link, to be changed; the neighbour has this
    /// many labels.
    pub(crate) fn sent(&mut self, from: usize, k: usize, link: Link, labels: usize) -> &mut [f64] {
        let back = self.back[self.links[from] + k] as usize;
        let start = self.starts[link.to] + back * labels;
        &mut self.values[start..start + labels]
    }

    /// `β_i + Σ` of all messages that a variable received.
    pub(crate) fn belief<F: Pairwise>(&self, field: &F, variable: usize, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(field.unary(variable));
        let labels = out.len();
        let (start, end) = (self.starts[variable], self.starts[variable + 1]);
        for message in self.values[start..end].chunks_exact(labels) {
            out.iter_mut().zip(message).for_each(|(o, m)| *o += m);
        }
    }
}
