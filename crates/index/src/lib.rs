//! Documents to a full-text index, Chinese included.
