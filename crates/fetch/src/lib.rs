//! One hop of a polite crawler: limits, address guard, robots.txt, WARC.
