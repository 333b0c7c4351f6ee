//! Bytes of a web page to a document: charset, capped parse, main text, links, language, tokens, features.
