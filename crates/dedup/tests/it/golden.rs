//! Files of this version, which must load for ever.
