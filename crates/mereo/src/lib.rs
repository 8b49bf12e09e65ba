//! mereo
