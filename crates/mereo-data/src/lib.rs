//! mereo-data
