//! mereo-report
