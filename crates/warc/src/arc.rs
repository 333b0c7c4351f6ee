//! Headers of ARC, the format before WARC: five fields, in version 2 ten (Internet Archive, "ARC File Format", 1996).

/// URL prefix of the first record in each ARC file.
const FILE: &str = "filedesc://";
/// Names, in lower case, and values.
type Headers = Vec<(String, String)>;

pub(crate) fn begins_file(line: &str) -> bool {
    line.starts_with(FILE) && headers(line).is_some()
}

/// Parses the header line of a record into WARC header fields: `URL IP DATE TYPE LENGTH`. Version 2 has status,
/// checksum, location, offset and file name before the length. Spaces in URL and type are tolerated.
pub(crate) fn headers(line: &str) -> Option<Headers> {
    let fields: Vec<&str> = line.split(' ').collect();
    let length: u64 = fields.last()?.parse().ok()?;
    // The date is the last field of 12 to 17 digits, or 8 directly after an IP address, that has an address before it
    // and a type after it.
    let digits = |at: usize| {
        let field = fields.get(at).copied().unwrap_or_default();
        field.bytes().all(|byte| byte.is_ascii_digit()).then_some(field.len())
    };
    let has_ip =
        |at: usize| fields.get(at - 1).is_some_and(|ip| ip.parse::<std::net::IpAddr>().is_ok());
    let candidates = || (2..fields.len().saturating_sub(2)).rev();
    let date = candidates()
        .find(|at| digits(*at).is_some_and(|length| (12..=17).contains(&length)))
        .or_else(|| candidates().find(|at| digits(*at) == Some(8) && has_ip(*at)))?;
    let url = fields.get(..date - 1)?.join(" ");
    let (ip, content_type) = (*fields.get(date - 1)?, *fields.get(date + 1)?);
    if !url.contains(':') || !ip.contains(['.', ':']) {
        return None;
    }
    let warc_type = if url.starts_with(FILE) { "warcinfo" } else { "response" };
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Some(vec![
        field("warc-type", warc_type),
        field("warc-target-uri", &url),
        field("warc-date", fields.get(date)?),
        field("warc-ip-address", ip),
        field("content-type", content_type),
        field("content-length", &length.to_string()),
    ])
}

/// Changes the type of a record without an HTTP head: it was not fetched over HTTP.
pub(crate) fn set_type(headers: &mut Headers, block: &[u8]) {
    if !block.starts_with(b"HTTP/") {
        for (name, value) in headers {
            if name == "warc-type" && value == "response" {
                "resource".clone_into(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_lines_of_both_versions() {
        let value = |line: &str, name: &str| {
            let headers = headers(line)?;
            headers.into_iter().find(|(header, _)| header == name).map(|(_, value)| value)
        };
        let one = "http://a.example/x y 10.0.0.1 20080430204825 text/html 120";
        assert_eq!(value(one, "warc-target-uri").unwrap(), "http://a.example/x y");
        assert_eq!(value(one, "warc-date").unwrap(), "20080430204825");
        assert_eq!(value(one, "content-length").unwrap(), "120");
        let two = "http://a.example/ 0.0.0.0 19960923142103 text/html 200 \
                   fac069150613fe55599cc7fa88aa089d - 209 a.arc 202";
        assert_eq!(value(two, "content-type").unwrap(), "text/html");
        assert_eq!(value(two, "content-length").unwrap(), "202");
        assert!(begins_file("filedesc://a.arc 0.0.0.0 19960923142103 text/plain 76"));
        let short = "http://a.example/ 10.0.0.1 20080430 text/html 120";
        assert_eq!(value(short, "warc-date").unwrap(), "20080430");
        for line in [
            "http://a.example/ - 20080430 text/html 120",
            "",
            "http://a.example/",
            "one two three 4",
            "<p>in 20080430204825 or 12",
            "a b 20080430204825 c 1",
        ] {
            assert_eq!(headers(line), None, "{line}");
        }
    }
}
