//! Small corpora over hand-made facts.
