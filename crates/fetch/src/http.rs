//! Parses HTTP responses as archives store them.

/// Status, headers and body of an HTTP response.
pub type HttpParts<'a> = (u16, Vec<(String, Vec<u8>)>, &'a [u8]);

/// Splits a stored HTTP response into status, headers and body.
pub fn http_parts(block: &[u8]) -> Option<HttpParts<'_>> {
    let (head, body) = split(block)?;
    let mut lines =
        head.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let status = String::from_utf8_lossy(lines.next()?).into_owned();
    let status = status.strip_prefix("HTTP/")?.split_whitespace().nth(1)?.parse().ok()?;
    let headers = lines
        .filter_map(|line| {
            let colon = line.iter().position(|&b| b == b':')?;
            let name = String::from_utf8_lossy(line.get(..colon)?).trim().to_ascii_lowercase();
            Some((name, line.get(colon + 1..)?.trim_ascii().to_vec()))
        })
        .collect();
    Some((status, headers, body))
}

/// Splits at the first empty line, with LF or CRLF (RFC 9112, section 2.2). The body may contain either.
fn split(block: &[u8]) -> Option<(&[u8], &[u8])> {
    let ends = block.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    for end in ends {
        let (head, rest) = block.split_at_checked(end)?;
        if let Some(body) = rest.strip_prefix(b"\n\n").or_else(|| rest.strip_prefix(b"\n\r\n")) {
            return Some((head, body));
        }
    }
    None
}
