//! The papers' experiments.
