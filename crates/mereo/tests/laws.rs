//! Every model of the list obeys the laws of all models.

use mereo_testing::{Laws, check_model};

/// What does not hold, and why.
fn laws(kind: &str) -> Laws {
    let all = Laws::default();
    match kind {
        // Its components are added to 0, so that cells far from 0 are another thing.
        "nmf" => Laws { offsets: false, ..all },
        // Every step follows the gradient of a few rows, so that the bound of all of them need not rise.
        "ae" | "vae" => Laws { bound_rises: false, ..all },
        _ => all,
    }
}

macro_rules! obey {
    ($($name:ident: $model:ty),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                check_model::<$model>(laws(<$model as mereo::Model>::KIND));
            }
        )*
    };
}

mereo::for_each_model!(obey);
