//! What every model must beat: means.

use mereo_core::RatingsSeen;

/// How many ratings' worth an item's mean is drawn to that of all, and a person's to the items' means.
const ITEM_PULL: f64 = 5.0;
const PERSON_PULL: f64 = 5.0;

/// A way to guess ratings without learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// The mean of all ratings.
    Global,
    /// The item's mean; that of all for an item that nobody rated.
    Item,
    /// The item's mean and how much higher or lower than others the person rates, both drawn to 0 the more the fewer ratings
    /// tell them.
    PersonAndItem,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Global, Self::Item, Self::PersonAndItem];

    /// What it is called.
    ///
    /// ```
    /// assert_eq!(mereo::rater::evaluate::Baseline::Item.name(), "item mean");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global mean",
            Self::Item => "item mean",
            Self::PersonAndItem => "user + item means",
        }
    }

    /// What the guesses for a person are made of: a number added to each item's own.
    pub(super) fn person(self, ratings: &[(u32, f32)], means: &Means) -> f64 {
        if self != Self::PersonAndItem {
            return 0.0;
        }
        let apart: f64 = ratings.iter().map(|&(d, x)| f64::from(x) - means.drawn[d as usize]).sum();
        apart / (ratings.len() as f64 + PERSON_PULL)
    }

    /// The guess for an item before the person's own number is added.
    pub(super) fn item(self, column: usize, means: &Means) -> f64 {
        match self {
            Self::Global => means.all,
            Self::Item => means.plain[column],
            Self::PersonAndItem => means.drawn[column],
        }
    }
}

/// The means of items.
#[derive(Debug)]
pub(super) struct Means {
    all: f64,
    plain: Vec<f64>,
    drawn: Vec<f64>,
}

impl Means {
    pub(super) fn of(seen: &RatingsSeen) -> Self {
        let all = seen.mean();
        let each = || seen.counts.iter().zip(&seen.means);
        let plain = each().map(|(n, mean)| if *n > 0.0 { *mean } else { all }).collect();
        let drawn = each().map(|(n, mean)| all + n * (mean - all) / (n + ITEM_PULL)).collect();
        Self { all, plain, drawn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_drawn_to_that_of_all_the_more_the_fewer_they_are() {
        let seen = RatingsSeen {
            lowest: 1.0,
            highest: 5.0,
            levels: Vec::new(),
            people: 100.0,
            counts: vec![95.0, 5.0, 0.0],
            means: vec![3.0, 5.0, 0.0],
            together: Vec::new(),
        };
        let means = Means::of(&seen);
        assert!((means.all - 3.1).abs() < 1e-12);
        assert_eq!(Baseline::Item.item(2, &means), means.all);
        let item = |d: usize| Baseline::PersonAndItem.item(d, &means);
        assert!((item(1) - 0.5 * (5.0 + 3.1)).abs() < 1e-12);
        assert_eq!(item(2), means.all);
        // One rating a star above: a sixth of a star.
        let apart = Baseline::PersonAndItem.person(&[(2, means.all as f32 + 1.0)], &means);
        assert!((apart - 1.0 / 6.0).abs() < 1e-6);
    }
}
