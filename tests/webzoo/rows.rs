//! The rows: the bytes of a response, the outcome of its page, and when the page is requested again.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{HTML, Kept, KeptWith, Leads, NextRun, Recrawl, Row, Skipped, Zoo, framed};

const OK: &str = "HTTP/1.1 200 OK\r\n";

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(body).unwrap();
    gz.finish().unwrap()
}

/// RFC 9110, section 15: statuses.
fn statuses(zoo: &mut Zoo) {
    for (name, becomes) in [
        ("200 OK", Kept),
        ("200", Kept),
        ("200 Very Well Indeed", Kept),
        ("203 Non-Authoritative", Kept),
        ("201 Created", Skipped("http-other", Recrawl)),
        ("204 No Content", Skipped("http-other", Recrawl)),
        ("206 Partial Content", Skipped("http-other", Recrawl)),
        ("226 IM Used", Skipped("http-other", Recrawl)),
        ("300 Multiple Choices", Skipped("http-other", Recrawl)),
        ("304 Not Modified", Skipped("http-other", Recrawl)),
        ("305 Use Proxy", Skipped("http-other", Recrawl)),
        ("400 Bad Request", Skipped("http-4xx", Recrawl)),
        ("401 Unauthorized", Skipped("http-4xx", Recrawl)),
        ("402 Payment Required", Skipped("http-4xx", Recrawl)),
        ("403 Forbidden", Skipped("http-4xx", Recrawl)),
        ("404 Not Found", Skipped("http-4xx", Recrawl)),
        ("405 Method Not Allowed", Skipped("http-4xx", Recrawl)),
        ("406 Not Acceptable", Skipped("http-4xx", Recrawl)),
        ("408 Request Timeout", Skipped("http-4xx", NextRun)),
        ("409 Conflict", Skipped("http-4xx", Recrawl)),
        ("410 Gone", Skipped("http-4xx", Recrawl)),
        ("418 I'm a teapot", Skipped("http-4xx", Recrawl)),
        ("421 Misdirected Request", Skipped("http-4xx", Recrawl)),
        ("423 Locked", Skipped("http-4xx", Recrawl)),
        ("425 Too Early", Skipped("http-4xx", NextRun)),
        ("429 Too Many Requests", Skipped("http-4xx", NextRun)),
        ("451 Unavailable For Legal Reasons", Skipped("http-4xx", Recrawl)),
        ("499 Client Closed Request", Skipped("http-4xx", Recrawl)),
        ("500 Internal Server Error", Skipped("http-5xx", NextRun)),
        ("501 Not Implemented", Skipped("http-5xx", NextRun)),
        ("502 Bad Gateway", Skipped("http-5xx", NextRun)),
        ("503 Service Unavailable", Skipped("http-5xx", NextRun)),
        ("504 Gateway Timeout", Skipped("http-5xx", NextRun)),
        ("520 Web Server Returned an Unknown Error", Skipped("http-5xx", NextRun)),
        ("599 Network Connect Timeout", Skipped("http-5xx", NextRun)),
        ("600 Odd", Skipped("http-5xx", NextRun)),
    ] {
        let empty = name.starts_with("204") || name.starts_with("304");
        zoo.add(name, becomes, |body| {
            framed(
                &format!("HTTP/1.1 {name}\r\nContent-Type: text/html\r\n"),
                if empty { b"" } else { body.as_bytes() },
            )
        });
    }
}

/// RFC 6265: a page that only clients with a cookie get; without --cookies nothing else is requested.
fn cookies(zoo: &mut Zoo) {
    let head = "Content-Type: text/html\r\nSet-Cookie: ok=1; Path=/\r\n";
    zoo.headed(
        "a refusal that sets a cookie",
        Skipped("http-4xx", Recrawl),
        &format!("HTTP/1.1 403 Forbidden\r\n{head}"),
    );
    for refresh in ["1", "0; url="] {
        zoo.add("a page that waits for a cookie", Skipped("redirects", Recrawl), |_| {
            let page = format!("<meta http-equiv=refresh content='{refresh}'><p>Please wait</p>");
            framed(&format!("{OK}{head}"), page.as_bytes())
        });
    }
}

/// RFC 9112: message syntax.
fn heads(zoo: &mut Zoo) {
    zoo.headed("HTTP/1.0", Kept, "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n");
    zoo.headed("names in any case", Kept, "HTTP/1.1 200 OK\r\ncOnTeNt-TyPe: text/html\r\n");
    zoo.headed("no space behind a colon", Kept, "HTTP/1.1 200 OK\r\nContent-Type:text/html\r\n");
    zoo.headed("a space before a colon", Kept, "HTTP/1.1 200 OK\r\nContent-Type : text/html\r\n");
    zoo.headed(
        "a folded line",
        Kept,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n charset=utf-8\r\n",
    );
    zoo.headed(
        "a line that is no header",
        Kept,
        "HTTP/1.1 200 OK\r\nthis is no header\r\nContent-Type: text/html\r\n",
    );
    zoo.headed(
        "an empty header",
        Kept,
        "HTTP/1.1 200 OK\r\nX-Empty:\r\nContent-Type: text/html\r\n",
    );
    zoo.headed(
        "a header of bytes",
        Kept,
        "HTTP/1.1 200 OK\r\nX-Owner: caf\u{e9}\r\nContent-Type: text/html\r\n",
    );
    zoo.headed(
        "seventy headers",
        Kept,
        &format!("{HTML}{}", (0..70).map(|n| format!("X-{n}: {n}\r\n")).collect::<String>()),
    );
    zoo.headed(
        "nine hundred headers",
        Kept,
        &format!("{HTML}{}", (0..900).map(|n| format!("X-{n}: {n}\r\n")).collect::<String>()),
    );
    zoo.headed(
        "eleven hundred headers",
        Skipped("protocol", NextRun),
        &format!("{HTML}{}", (0..1_100).map(|n| format!("X-{n}: {n}\r\n")).collect::<String>()),
    );
    zoo.headed(
        "fifty cookies",
        Kept,
        &format!(
            "{HTML}{}",
            (0..50).map(|n| format!("Set-Cookie: a{n}={n}\r\n")).collect::<String>()
        ),
    );
}

/// RFC 9112, sections 6 to 8: the length of a body.
fn lengths(zoo: &mut Zoo) {
    zoo.add("lines that end with a line feed alone", Kept, |body| {
        format!(
            "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: {}\n\n{body}",
            body.len()
        )
        .into_bytes()
    });
    zoo.add("no length", Kept, |body| {
        format!("{HTML}Connection: close\r\n\r\n{body}").into_bytes()
    });
    zoo.add("equal lengths twice", Kept, |body| {
        format!(
            "{HTML}Content-Length: {0}\r\nContent-Length: {0}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    });
    zoo.add("chunks", Kept, |body| chunked(body, "", "0\r\n\r\n"));
    zoo.add("chunks with extensions", Kept, |body| chunked(body, ";name=value", "0\r\n\r\n"));
    zoo.add("chunks with a trailer", Kept, |body| chunked(body, "", "0\r\nX-Trailer: yes\r\n\r\n"));
    // RFC 9112, section 8: a body that is complete by its own framing is used.
    zoo.add("chunks without an end", KeptWith("cut-short"), |body| chunked(body, "", ""));
    zoo.add("a length that is too large", KeptWith("cut-short"), |body| {
        format!("{HTML}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len() + 100)
            .into_bytes()
    });
    zoo.add("half a page", Skipped("protocol", NextRun), |body| {
        let half = &body[..body.len() / 2];
        format!("{HTML}Content-Length: {}\r\nConnection: close\r\n\r\n{half}", body.len())
            .into_bytes()
    });
    zoo.add("gzip whole, and a length that is too large", KeptWith("cut-short"), |body| {
        let body = gzip(body.replace("</html>", "").as_bytes());
        let mut answer = format!(
            "{HTML}Content-Encoding: gzip\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len() + 9
        )
        .into_bytes();
        answer.extend(body);
        answer
    });
    let too_long = |body: Vec<u8>| {
        let length = body.len() + 100;
        let head = format!("{HTML}Content-Length: {length}\r\nConnection: close\r\n\r\n");
        [head.into_bytes(), body].concat()
    };
    for (name, end) in [
        ("an end tag with a space, and a length that is too large", "</HTML >"),
        ("an end tag in two lines, and a length that is too large", "</html\n>\n"),
        ("comments behind the end tag, and a length that is too large", "</html>\n<!-- 0.2 s -->"),
        (
            "scripts behind the end tag, and a length that is too large",
            "</html><script>a()</script>",
        ),
    ] {
        zoo.add(name, KeptWith("cut-short"), |body| too_long(body.replace("</html>", end).into()));
    }
    zoo.add("UTF-16, and a length that is too large", KeptWith("cut-short"), |body| {
        too_long(format!("\u{FEFF}{body}").encode_utf16().flat_map(u16::to_le_bytes).collect())
    });
    for (name, end) in [
        ("an end tag in a script that was cut", "<script>a = '</html>';"),
        ("an end tag in a comment that was cut", "<!-- </html>"),
    ] {
        zoo.add(name, Skipped("protocol", NextRun), |body| {
            too_long(body.replace("</html>", end).into())
        });
    }
    // A text without markup does not show where it ends.
    zoo.add("half a text without markup", Skipped("protocol", NextRun), |body| {
        let body = body.replace("</html>", "");
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len() + 100
        )
        .into_bytes()
    });
    zoo.add("nothing", Skipped("protocol", NextRun), |_| Vec::new());
    zoo.add("no HTTP", Skipped("protocol", NextRun), |body| body.as_bytes().to_vec());
}

fn chunked(body: &str, extension: &str, end: &str) -> Vec<u8> {
    let (one, two) = body.split_at(body.len() / 3);
    let mut answer = format!("{HTML}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    for chunk in [one, two] {
        answer.push_str(&format!("{:x}{extension}\r\n{chunk}\r\n", chunk.len()));
    }
    answer.push_str(end);
    answer.into_bytes()
}

/// WHATWG Fetch, "extract a MIME type"; WHATWG MIME Sniffing.
fn types(zoo: &mut Zoo) {
    for (name, head, becomes) in [
        ("no type", "", Kept),
        ("an empty type", "Content-Type:\r\n", Kept),
        ("*/*", "Content-Type: */*\r\n", Kept),
        ("html", "Content-Type: html\r\n", Kept),
        ("text", "Content-Type: text\r\n", Kept),
        ("text/html charset", "Content-Type: text/html charset=utf-8\r\n", Kept),
        ("in capitals", "Content-Type: TEXT/HTML; CHARSET=UTF-8\r\n", Kept),
        ("quoted charset", "Content-Type: text/html; charset=\"utf-8\"\r\n", Kept),
        ("semicolons", "Content-Type: text/html;;;charset=utf-8;\r\n", Kept),
        ("a charset alone", "Content-Type: ; charset=utf-8\r\n", Kept),
        ("a list", "Content-Type: text/html, text/html; charset=utf-8\r\n", Kept),
        ("a list that ends with anything", "Content-Type: text/html, */*\r\n", Kept),
        ("a list with an odd one", "Content-Type: text/html, nonsense\r\n", Kept),
        (
            "two headers",
            "Content-Type: text/html\r\nContent-Type: text/html; charset=utf-8\r\n",
            Kept,
        ),
        ("two types", "Content-Type: image/png\r\nContent-Type: text/html\r\n", Kept),
        ("an unknown charset", "Content-Type: text/html; charset=none\r\n", Kept),
        ("XHTML", "Content-Type: application/xhtml+xml\r\n", Kept),
        ("application/xml of XHTML", "Content-Type: application/xml\r\n", Kept),
        ("text/xml of XHTML", "Content-Type: text/xml; charset=utf-8\r\n", Kept),
        ("text/plain", "Content-Type: text/plain\r\n", Kept),
        ("a picture", "Content-Type: image/png\r\n", Skipped("content-type", Recrawl)),
        ("JSON", "Content-Type: application/json\r\n", Skipped("content-type", Recrawl)),
        ("bytes", "Content-Type: application/octet-stream\r\n", Skipped("content-type", Recrawl)),
        (
            "the last of two types",
            "Content-Type: text/html\r\nContent-Type: image/png\r\n",
            Skipped("content-type", Recrawl),
        ),
        ("nosniff", "Content-Type: text/html\r\nX-Content-Type-Options: nosniff\r\n", Kept),
        ("an attachment", "Content-Type: text/html\r\nContent-Disposition: attachment\r\n", Kept),
    ] {
        zoo.headed(name, becomes, &format!("{OK}{head}"));
    }
    zoo.body(
        "a feed as XML",
        Skipped("content-type", Recrawl),
        "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n",
        |body| format!("<?xml version='1.0'?><rss><title>{body}</title></rss>").into_bytes(),
    );
    let xml = "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n";
    zoo.body("XHTML in UTF-16 as XML", Kept, xml, |body| {
        let page = format!("\u{FEFF}<?xml version='1.0' encoding='utf-16'?>{body}");
        page.encode_utf16().flat_map(u16::to_be_bytes).collect()
    });
    zoo.body("XHTML as XML behind a long comment", Kept, xml, |body| {
        format!("<?xml version='1.0'?><!-- {} -->{body}", "long ".repeat(1_000)).into_bytes()
    });
    zoo.body("zeros without a type", Skipped("content-type", Recrawl), OK, |_| vec![0; 900]);
    zoo.body("control characters as HTML", Skipped("charset", Recrawl), HTML, |_| {
        [1, 2, 3, 4, 5, b'a'].repeat(300)
    });
}

/// RFC 9110, section 8.4; RFC 8878.
fn encodings(zoo: &mut Zoo) {
    let with = |encoding: &str| format!("{HTML}Content-Encoding: {encoding}\r\n");
    zoo.body("gzip", Kept, &with("gzip"), |body| gzip(body.as_bytes()));
    zoo.body("x-gzip", Kept, &with("x-gzip"), |body| gzip(body.as_bytes()));
    zoo.body("GZIP", Kept, &with("GZIP"), |body| gzip(body.as_bytes()));
    zoo.body("gzip in two members", Kept, &with("gzip"), |body| {
        let (one, two) = body.split_at(body.len() / 2);
        [gzip(one.as_bytes()), gzip(two.as_bytes())].concat()
    });
    zoo.body("gzip without its trailer", Kept, &with("gzip"), |body| {
        let mut packed = gzip(body.as_bytes());
        packed.truncate(packed.len() - 8);
        packed
    });
    zoo.body("gzip twice", Kept, &with("gzip, gzip"), |body| gzip(&gzip(body.as_bytes())));
    zoo.body("zlib as deflate", Kept, &with("deflate"), |body| {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(body.as_bytes()).unwrap();
        zlib.finish().unwrap()
    });
    zoo.body("raw deflate", Kept, &with("deflate"), |body| {
        let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), Compression::fast());
        raw.write_all(body.as_bytes()).unwrap();
        raw.finish().unwrap()
    });
    for name in
        ["identity", "none", "utf-8", "UTF-8", "text/html", "binary", "foo", "", "aws-chunked"]
    {
        zoo.body("no encoding by name", Kept, &with(name), |body| body.as_bytes().to_vec());
    }
    for name in ["gzip", "deflate", "br", "zstd", "gzip, deflate"] {
        zoo.body("an encoding that was not done", Kept, &with(name), |body| {
            body.as_bytes().to_vec()
        });
    }
    zoo.body("UTF-16 as gzip that was not done", Kept, &with("gzip"), |body| {
        let units = "\u{FEFF}".encode_utf16().chain(body.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    });
    zoo.body("gzip as deflate", Kept, &with("deflate"), |body| gzip(body.as_bytes()));
    zoo.body("a zero, as gzip that was not done", Kept, &with("gzip"), |body| {
        body.replacen("the ", "the\0 ", 1).into_bytes()
    });
    let japanese = with("gzip").replace("text/html", "text/html; charset=iso-2022-jp");
    zoo.body("ISO-2022-JP as gzip that was not done", Kept, &japanese, |body| {
        body.replace("<p>", "<p>\u{1b}$B$3$l$OJ8>O$G$9\u{1b}(B ").into_bytes()
    });
    let utf16 = with("br").replace("text/html", "text/html; charset=utf-16le");
    zoo.body("UTF-16 without a mark, as br that was not done", Kept, &utf16, |body| {
        body.encode_utf16().flat_map(u16::to_le_bytes).collect()
    });
    zoo.body("noise as gzip", Skipped("encoding", Recrawl), &with("gzip"), |_| {
        [7, 0, 1, 200].repeat(99)
    });
    zoo.body("noise as zstd", Skipped("encoding", Recrawl), &with("zstd"), |_| {
        [7, 0, 1, 200].repeat(99)
    });
}

/// RFC 9110, section 10.2.2; WHATWG Fetch, "location URL"; WHATWG HTML, refresh.
fn redirects(zoo: &mut Zoo) {
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        zoo.headed("a redirect", Leads, &format!("HTTP/1.1 {status}\r\nLocation: /target\r\n"));
    }
    for location in [
        "target",
        "./target",
        "/x/../target",
        "/target#part",
        " /target ",
        "/target?",
        "?x",
        "//127.0.0.1:PORT/target",
    ] {
        let becomes = if location == "?x" { Kept } else { Leads };
        if becomes == Leads {
            zoo.headed(
                "a location",
                becomes,
                &format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\n"),
            );
        }
    }
    zoo.headed(
        "no location",
        Skipped("http-other", Recrawl),
        "HTTP/1.1 302 Found\r\nContent-Type: text/html\r\n",
    );
    // It names the URL itself, which is requested once more at once.
    zoo.headed(
        "an empty location",
        Skipped("redirects", Recrawl),
        "HTTP/1.1 302 Found\r\nLocation:\r\n",
    )
    .requests_per_try = 2;
    zoo.headed(
        "a location of a script",
        Skipped("redirects", Recrawl),
        "HTTP/1.1 302 Found\r\nLocation: javascript:history.back()\r\n",
    );
    zoo.headed(
        "a location of a file",
        Skipped("redirects", Recrawl),
        "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n",
    );
    for refresh in [
        "0; url=/target",
        "0;URL='/target'",
        "0,/target",
        "1 ; url = \"/target\"",
        "0 url=/target",
        "0;/target",
    ] {
        zoo.add("a refresh in the head", Leads, |_| {
            framed(&format!("{HTML}Refresh: {refresh}\r\n"), b"<p>moved</p>")
        });
        zoo.add("a refresh in the page", Leads, |_| {
            let element = format!(
                "<meta http-equiv=Refresh content='{}'><p>moved</p>",
                refresh.replace('\'', "&#39;")
            );
            framed(HTML, element.as_bytes())
        });
    }
    zoo.headed("a refresh of itself", Kept, &format!("{HTML}Refresh: 5\r\n"));
    zoo.headed("a refresh after a while", Kept, &format!("{HTML}Refresh: 30; url=/target\r\n"));
}

/// WHATWG HTML, section 13.2.3.2; RFC 8288; Robots meta tags.
fn pages(zoo: &mut Zoo) {
    for (name, element) in [
        ("charset", "<meta charset=utf-8>"),
        (
            "charset in an http-equiv",
            "<meta http-equiv=content-type content='text/html; charset=utf-8'>",
        ),
        ("charset in a description", "<meta name=description content='charset=utf-16'>"),
        ("a base of data", "<base href='data:,x'>"),
        ("a canonical address of nothing", "<link rel=canonical href=''>"),
        ("a canonical address of itself", "<link rel=canonical href='#'>"),
        ("an odd canonical address", "<link rel=canonical href='http://['>"),
        ("index", "<meta name=robots content='index, follow'>"),
        ("noarchive", "<meta name=robots content=noarchive>"),
        ("noindex of another robot", "<meta name=otherbot content=noindex>"),
        ("a DOCTYPE in the head", "<!DOCTYPE html>"),
        ("a comment", "<!-- <meta name=robots content=noindex> -->"),
        (
            "a script that speaks of tags",
            "<script>document.write('<meta name=robots content=noindex>')</script>",
        ),
        ("noindex in a template", "<template><meta name=robots content=noindex></template>"),
        ("an unclosed style", "<style>p {}</style><style></style>"),
        (
            "a noscript refresh",
            "<noscript><meta http-equiv=refresh content='0;url=/target'></noscript>",
        ),
    ] {
        zoo.page(name, Kept, element);
    }
    for (name, element) in [
        ("noindex", "<meta name=robots content=noindex>"),
        ("NOINDEX", "<META NAME=ROBOTS CONTENT='NOINDEX,NOFOLLOW'>"),
        ("none", "<meta name=robots content=none>"),
        ("noindex without a comma", "<meta name=robots content='noindex nofollow'>"),
        ("noindex of this robot", "<meta name=hapax content=noindex>"),
    ] {
        zoo.page(name, Skipped("noindex", Recrawl), element);
    }
    zoo.headed(
        "X-Robots-Tag",
        Skipped("noindex", Recrawl),
        &format!("{HTML}X-Robots-Tag: noindex\r\n"),
    );
    zoo.headed(
        "X-Robots-Tag of this robot",
        Skipped("noindex", Recrawl),
        &format!("{HTML}X-Robots-Tag: hapax: noindex\r\n"),
    );
    zoo.headed(
        "X-Robots-Tag of another robot",
        Kept,
        &format!("{HTML}X-Robots-Tag: otherbot: noindex\r\n"),
    );
    zoo.body("a byte order mark", Kept, HTML, |body| [b"\xEF\xBB\xBF", body.as_bytes()].concat());
    zoo.body("UTF-16", Kept, HTML, |body| {
        let units = "\u{FEFF}".encode_utf16().chain(body.encode_utf16()).collect::<Vec<u16>>();
        units.into_iter().flat_map(u16::to_le_bytes).collect()
    });
    zoo.body("no tags at all", Kept, HTML, |body| body.replace(['<', '>'], " ").into_bytes());
    zoo.body("tags that are not closed", Kept, HTML, |body| body.replace("</", "<").into_bytes());
    zoo.body("zeros in the text", Kept, HTML, |body| body.replace("the ", "the\0 ").into_bytes());
    zoo.body("old Mac line ends", Kept, HTML, |body| body.replace(". ", ".\r").into_bytes());
    zoo.body("upper case", Kept, HTML, |body| {
        body.replace("<p>", "<P>").replace("</p>", "</P>").into_bytes()
    });
}

/// Returns all rows.
pub(super) fn zoo() -> Vec<Row> {
    let mut zoo = Zoo::default();
    statuses(&mut zoo);
    cookies(&mut zoo);
    heads(&mut zoo);
    lengths(&mut zoo);
    types(&mut zoo);
    encodings(&mut zoo);
    redirects(&mut zoo);
    pages(&mut zoo);
    zoo.0
}
