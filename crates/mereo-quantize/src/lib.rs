//! mereo-quantize
