//! Reads JSON-LD: the object that describes the page, and the persons and publishers that it refers to.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Deserializer, Map, Value};

use super::candidates::{Candidates, Field, MetadataSource};
use super::json_repair::{repaired, strings_of};
use super::limits::{MAX_AUTHORS, MAX_JSON_DEPTH, MAX_JSON_NODES};

/// Maximum number of values in one script: some write several objects without an array.
const MAX_VALUES: usize = 32;
/// Members that contain further objects about the page itself.
const NESTED: [&str; 3] = ["@graph", "mainEntity", "mainEntityOfPage"];
const SOURCE: MetadataSource = MetadataSource::JsonLd;

type Object = Map<String, Value>;

/// Adds what a script declares.
///
/// # Complexity
/// Linear in the text.
pub(crate) fn read(json: &str, out: &mut Candidates) {
    let values = match serde_json::from_str::<Value>(json) {
        Ok(value) => vec![value],
        Err(_) => parts(&repaired(json)),
    };
    if values.is_empty() {
        for (name, field) in
            [("datePublished", Field::Published), ("dateModified", Field::Modified)]
        {
            strings_of(json, name).for_each(|value| out.add(field, SOURCE, BROKEN, value));
        }
        return;
    }
    let mut graph = Graph::default();
    values.iter().for_each(|value| graph.collect(value, 0));
    for object in &graph.objects {
        graph.read(object, out);
    }
}

/// Added to the rank of a date of creation: drafts are created before they are published.
const CREATED: u8 = 3;
/// Rank of values from JSON that cannot be parsed.
const BROKEN: u8 = 9;

/// Parses values that follow each other, up to the first fault.
fn parts(json: &str) -> Vec<Value> {
    Deserializer::from_str(json).into_iter().map_while(Result::ok).take(MAX_VALUES).collect()
}

#[derive(Default)]
struct Graph<'a> {
    /// The objects about the page, in document order.
    objects: Vec<&'a Object>,
    by_id: HashMap<&'a str, &'a Object>,
}

impl<'a> Graph<'a> {
    fn collect(&mut self, value: &'a Value, depth: usize) {
        if depth > MAX_JSON_DEPTH || self.objects.len() >= MAX_JSON_NODES {
            return;
        }
        match value {
            Value::Array(all) => all.iter().for_each(|value| self.collect(value, depth + 1)),
            Value::Object(object) => {
                if let Some(id) = object.get("@id").and_then(Value::as_str)
                    && object.len() > 1
                {
                    self.by_id.entry(id).or_insert(object);
                }
                self.objects.push(object);
                for name in NESTED {
                    if let Some(value) = object.get(name) {
                        self.collect(value, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    fn read(&self, object: &'a Object, out: &mut Candidates) {
        let Some(kind) = object.get("@type").and_then(text) else { return };
        let kind = kind.rsplit(['/', ':']).next().unwrap_or_default();
        let Some(rank) = rank(kind) else {
            if kind == "WebSite" {
                self.add(object, &["name"], Field::SiteName, 1, out);
            }
            return;
        };
        out.add(Field::Type, SOURCE, rank, kind);
        for (names, field) in [
            (&["datePublished"][..], Field::Published),
            (&["dateModified"], Field::Modified),
            (&["description", "abstract"], Field::Description),
            (&["image", "primaryImageOfPage", "thumbnailUrl"], Field::Picture),
            (&["license"], Field::Licence),
        ] {
            self.add(object, names, field, rank, out);
        }
        self.add(object, &["dateCreated"], Field::Published, rank + CREATED, out);
        for name in ["author", "creator"] {
            let mut names = Vec::new();
            if let Some(value) = object.get(name) {
                self.names(value, 0, &mut names);
            }
            names.iter().for_each(|name| out.add(Field::Author, SOURCE, rank, name));
            if !names.is_empty() {
                break;
            }
        }
        if let Some(publisher) = object.get("publisher").and_then(|value| self.object(value)) {
            self.add(publisher, &["name"], Field::SiteName, 0, out);
        }
    }

    /// Adds the first of the members that has a text.
    fn add(
        &self,
        object: &'a Object,
        names: &[&str],
        field: Field,
        rank: u8,
        out: &mut Candidates,
    ) {
        let is_date = matches!(field, Field::Published | Field::Modified);
        let value = |value: &'a Value| match value {
            // Seconds or milliseconds since 1970.
            Value::Number(number) if is_date => Some(number.to_string().into()),
            value => self.text(value).map(Cow::Borrowed),
        };
        let found = names.iter().filter_map(|name| value(object.get(*name)?)).next();
        if let Some(value) = found {
            out.add(field, SOURCE, rank, &value);
        }
    }

    /// Returns the object that a value is or refers to.
    fn object(&self, value: &'a Value) -> Option<&'a Object> {
        let value = value.as_array().map_or(Some(value), |all| all.first())?;
        let object = value.as_object()?;
        let id = object.get("@id").and_then(Value::as_str);
        let referred = id.filter(|_| object.len() <= 2).and_then(|id| self.by_id.get(id));
        Some(referred.copied().unwrap_or(object))
    }

    fn text(&self, value: &'a Value) -> Option<&'a str> {
        text(value).or_else(|| {
            let object = self.object(value)?;
            ["@value", "url", "contentUrl", "name"].iter().find_map(|name| text(object.get(*name)?))
        })
    }

    /// Collects the names of persons.
    fn names(&self, value: &'a Value, depth: usize, out: &mut Vec<Cow<'a, str>>) {
        if depth > MAX_JSON_DEPTH || out.len() >= MAX_AUTHORS {
            return;
        }
        match value {
            Value::String(name) => out.push(name.into()),
            Value::Array(all) => all.iter().for_each(|one| self.names(one, depth + 1, out)),
            Value::Object(_) => {
                let Some(person) = self.object(value) else { return };
                match person.get("name") {
                    Some(name) => self.names(name, depth + 1, out),
                    None => out.extend(name_of_parts(person).map(Cow::Owned)),
                }
            }
            _ => {}
        }
    }
}

/// Returns the given name and the family name of a person that has no other.
fn name_of_parts(person: &Object) -> Option<String> {
    let parts = ["givenName", "additionalName", "familyName"];
    let parts: Vec<&str> = parts.iter().filter_map(|name| text(person.get(*name)?)).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Returns a string, or the first of a list.
fn text(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.as_array()?.iter().find_map(Value::as_str))
}

/// Returns the rank of an object of this type; `None` if it does not describe the page.
fn rank(kind: &str) -> Option<u8> {
    match kind {
        "WebPage" | "ItemPage" | "AboutPage" | "FAQPage" | "QAPage" | "CollectionPage"
        | "ProfilePage" | "MedicalWebPage" => Some(1),
        "Person"
        | "Organization"
        | "NewsMediaOrganization"
        | "WebSite"
        | "BreadcrumbList"
        | "ItemList"
        | "ImageObject"
        | "SearchAction"
        | "Comment"
        | "Review"
        | "AggregateRating"
        | "Offer"
        | "ListItem"
        | "SiteNavigationElement"
        | "WPHeader"
        | "WPFooter"
        | "LocalBusiness"
        | "Corporation"
        | "Brand"
        | "Place"
        | "PostalAddress"
        | "Event" => None,
        _ if kind.contains("Article") || kind.contains("Posting") => Some(0),
        "Report" | "Recipe" | "HowTo" | "TechArticle" | "ScholarlyArticle" | "Blog" | "Book" => {
            Some(0)
        }
        _ => Some(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(json: &str, field: Field) -> Vec<String> {
        let mut out = Candidates::default();
        read(json, &mut out);
        out.of(field, &[SOURCE]).into_iter().map(|candidate| candidate.value.clone()).collect()
    }

    #[test]
    fn an_article_of_a_graph_is_preferred_to_its_page_and_persons_are_looked_up() {
        let json = r##"{"@graph": [
            {"@type": "WebPage", "datePublished": "2020-01-01", "@id": "#page"},
            {"@type": ["NewsArticle"], "datePublished": "2026-03-01", "author": [{"@id": "#ada"}, "Ben Reed"],
             "publisher": {"@id": "#us"}, "image": [{"url": "/boat.jpg"}], "license": {"@id": "x", "url": "https://l.example"}},
            {"@type": "Person", "@id": "#ada", "name": "Ada Moss"},
            {"@type": "Organization", "@id": "#us", "name": "The Harbour"},
            {"@type": "Comment", "datePublished": "2026-04-01", "author": "Somebody"}]}"##;
        assert_eq!(values(json, Field::Published), ["2026-03-01", "2020-01-01"]);
        assert_eq!(values(json, Field::Author), ["Ada Moss", "Ben Reed"]);
        assert_eq!(values(json, Field::SiteName), ["The Harbour"]);
        assert_eq!(values(json, Field::Picture), ["/boat.jpg"]);
        assert_eq!(values(json, Field::Licence), ["https://l.example"]);
        assert_eq!(values(json, Field::Type), ["NewsArticle", "WebPage"]);
    }

    #[test]
    fn numbers_are_times_and_persons_may_have_two_names() {
        let json = r#"{"@type": "Article", "datePublished": 1767312000, "dateModified": 1767312000000, "description": 7,
            "author": [{"@type": "Person", "givenName": "Ada", "familyName": "Moss"}, {"@type": "Person"}]}"#;
        assert_eq!(values(json, Field::Published), ["1767312000"]);
        assert_eq!(values(json, Field::Modified), ["1767312000000"]);
        assert_eq!(values(json, Field::Author), ["Ada Moss"]);
        assert!(values(json, Field::Description).is_empty());
    }

    #[test]
    fn broken_json_gives_what_can_be_read() {
        let json = "{\"@type\": \"Article\", \"description\": \"two\nlines\", \"datePublished\": \"2026-03-01\",}";
        assert_eq!(values(json, Field::Description), ["two lines"]);
        assert_eq!(values(json.get(..70).unwrap(), Field::Description), Vec::<String>::new());
        let cut = r#"{"@type": "Article", "datePublished": "2026-03-01", "articleBody": "cut"#;
        assert_eq!(values(cut, Field::Published), ["2026-03-01"]);
        let two = r#"{"@type": "Article", "dateModified": "2026-03-01"}{"@type": "Article", "dateModified": "2026-03-02"}"#;
        assert_eq!(values(two, Field::Modified).len(), 2);
        for json in ["", "null", "[", "7", "\"x\"", "{}", "[[]]", r#"{"@type": 7}"#] {
            assert!(values(json, Field::Published).is_empty(), "{json}");
        }
    }

    #[test]
    fn deep_and_numerous_objects_stop_at_the_limits() {
        let nested = |depth: usize| {
            let article = r#"{"@type": "Article", "datePublished": "2026-03-01"}"#;
            format!("{}{article}{}", r#"{"mainEntity":"#.repeat(depth), "}".repeat(depth))
        };
        assert_eq!(values(&nested(MAX_JSON_DEPTH), Field::Published).len(), 1);
        assert!(values(&nested(MAX_JSON_DEPTH + 1), Field::Published).is_empty());
        let many = vec![r#"{"@type": "Article", "author": "A"}"#; MAX_JSON_NODES + 9].join(",");
        let mut graph = Graph::default();
        let value = serde_json::from_str(&format!("[{many}]")).unwrap();
        graph.collect(&value, 0);
        assert_eq!(graph.objects.len(), MAX_JSON_NODES);
        let authors = vec![r#""A""#; MAX_AUTHORS + 9].join(",");
        let json = format!(r#"{{"@type": "Article", "author": [{authors}]}}"#);
        assert_eq!(values(&json, Field::Author).len(), MAX_AUTHORS);
        // serde_json's limit on depth.
        values(&"[".repeat(100_000), Field::Author);
    }
}
