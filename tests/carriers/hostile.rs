//! Carriers that mean harm, or have come to harm.
