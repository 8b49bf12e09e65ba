//! mereo-parts
