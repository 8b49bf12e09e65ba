//! mereo-mixture
