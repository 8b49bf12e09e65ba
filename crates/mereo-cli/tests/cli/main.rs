//! The program from end to end: what it is asked on the command line, what it answers, and what
//! it leaves behind.

mod classes;
mod contract;
mod errors;
mod features;
mod fields;
mod files;
mod help;
mod killed;
mod linear;
mod maps;
mod mixtures;
mod ratings;
mod same_bytes;
mod signals;
mod steps;
mod tables;
mod world;
