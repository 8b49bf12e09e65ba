//! Limits that the models share.

use mereo_core::{Error, Result};

/// Most components, and most numbers that statistics may have.
const MOST_COMPONENTS: usize = 1 << 14;
const MOST_NUMBERS: usize = 1 << 28;

pub(crate) fn check_components(components: usize) -> Result<()> {
    if components == 0 {
        return Err(Error::option("components", "at least 1 component is needed"));
    }
    if components > MOST_COMPONENTS {
        return Err(Error::option(
            "components",
            format!("{components} are more than the {MOST_COMPONENTS} allowed"),
        ));
    }
    Ok(())
}

pub(crate) fn check_floor(floor: f64) -> Result<()> {
    if (1e-12..=1.0).contains(&floor) {
        return Ok(());
    }
    Err(Error::option("variance-floor", format!("{floor} is not from 1e-12 to 1")))
}

/// Whether rows of this many columns can have so many components.
pub(crate) fn check_columns(components: usize, columns: usize) -> Result<()> {
    if components > columns {
        return Err(Error::option(
            "components",
            format!("{components} are more than the {columns} columns can have; ask for fewer"),
        ));
    }
    Ok(())
}

/// Whether statistics of so many numbers for each of this many columns fit in memory.
pub(crate) fn check_numbers(components: usize, columns: usize, each: usize) -> Result<()> {
    if columns.checked_mul(each).is_none_or(|numbers| numbers > MOST_NUMBERS) {
        return Err(Error::option(
            "components",
            format!("{components} components of {columns} columns take too much memory to learn"),
        ));
    }
    Ok(())
}
