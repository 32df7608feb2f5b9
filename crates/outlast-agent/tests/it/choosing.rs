//! Which model is taken: what was asked for, else what is there.
