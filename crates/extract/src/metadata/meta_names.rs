//! The names of `<meta>` elements that declare metadata.

use super::candidates::{Field, MetadataSource};
use Field::{Author, Description, Licence, Modified, Picture, Published, SiteName, Type};
use MetadataSource::{DublinCore, Meta, OpenGraph};

/// Longest known name, in bytes.
const MAX_NAME: usize = 48;

/// Returns the field that a name or property declares, its source and its rank.
pub(crate) fn field_of(name: &str) -> Option<(Field, MetadataSource, u8)> {
    if name.len() > MAX_NAME {
        return None;
    }
    let name = name.trim().to_ascii_lowercase();
    if let Some(rest) = name.strip_prefix("dcterms").or_else(|| name.strip_prefix("dc"))
        && let Some(term) = rest.strip_prefix(['.', ':'])
    {
        return dublin_core(term).map(|(field, rank)| (field, DublinCore, rank));
    }
    let found = NAMES.iter().find(|(.., names)| names.split(' ').any(|known| known == name));
    found.map(|(field, source, rank, _)| (*field, *source, *rank))
}

fn dublin_core(term: &str) -> Option<(Field, u8)> {
    Some(match term {
        "date.issued" | "issued" | "date.published" | "date.publication" => (Published, 0),
        "date" | "date.created" | "created" | "available" | "date.available" => (Published, 1),
        "modified" | "date.modified" | "date.updated" => (Modified, 0),
        "creator" | "creator.personalname" => (Author, 0),
        "description" | "abstract" => (Description, 0),
        "publisher" => (SiteName, 0),
        "license" | "rights.license" => (Licence, 0),
        "rights" => (Licence, 1),
        "type" => (Type, 0),
        _ => return None,
    })
}

const NAMES: [(Field, MetadataSource, u8, &str); 16] = [
    (
        Published,
        OpenGraph,
        0,
        "article:published_time article:published og:published_time og:article:published_time og:pubdate \
         article:published_date og:release_date book:release_date video:release_date",
    ),
    (
        Published,
        Meta,
        0,
        "datepublished publishdate publish-date publish_date pubdate publication_date publicationdate publication-date \
         published_time published-date publisheddate published_at published parsely-pub-date sailthru.date \
         citation_publication_date citation_online_date article.published article_date_original \
         cxenseparse:recs:publishtime originalpublicationdate rnews:datepublished shareaholic:article_published_time \
         weibo:article:create_at bt:pubdate dateposted displaydate ptime article_publish_time firstpublished \
         dcsext.articlefirstpublished",
    ),
    (Published, Meta, 1, "date created datecreated creation_date citation_date doc_date pub_date"),
    (Modified, OpenGraph, 0, "article:modified_time article:modified og:modified_time"),
    (Modified, OpenGraph, 1, "og:updated_time article:updated_time"),
    (
        Modified,
        Meta,
        0,
        "datemodified lastmod last-modified lastmodified last_modified modificationdate modified article.updated dateupdated \
         weibo:article:update_at dateupdate revised updated_time",
    ),
    (Author, OpenGraph, 0, "article:author og:article:author article:author_name og:author"),
    (
        Author,
        Meta,
        0,
        "parsely-author sailthru.author citation_author byl authors author_name article_author \
         shareaholic:article_author_name cxenseparse:author dcsext.author",
    ),
    (Author, Meta, 1, "author"),
    (Description, OpenGraph, 0, "og:description"),
    (Description, Meta, 0, "description"),
    (Description, Meta, 1, "twitter:description sailthru.description"),
    (SiteName, OpenGraph, 0, "og:site_name"),
    (SiteName, Meta, 0, "application-name citation_journal_title"),
    (Picture, OpenGraph, 0, "og:image og:image:url og:image:secure_url"),
    (Picture, Meta, 0, "twitter:image twitter:image:src sailthru.image.full thumbnail"),
];

/// Returns whether this is the name of the declared type.
pub(crate) fn is_type(name: &str) -> bool {
    name.trim().eq_ignore_ascii_case("og:type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_case_and_others_are_not() {
        for (name, expected) in [
            ("Article:Published_Time", (Published, OpenGraph, 0)),
            ("DC.date.issued", (Published, DublinCore, 0)),
            ("dcterms:modified", (Modified, DublinCore, 0)),
            ("date", (Published, Meta, 1)),
            ("AUTHOR", (Author, Meta, 1)),
        ] {
            assert_eq!(field_of(name), Some(expected), "{name}");
        }
        for name in ["", " ", "dc", "dc.", "dcx.date", "viewport", "og:title", &"x".repeat(99)] {
            assert_eq!(field_of(name), None, "{name}");
        }
    }

    #[test]
    fn each_name_is_listed_once_and_fits_the_limit() {
        let mut names: Vec<&str> = NAMES.iter().flat_map(|(.., names)| names.split(' ')).collect();
        assert!(names.iter().all(|name| name.len() <= MAX_NAME && *name == name.to_lowercase()));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
