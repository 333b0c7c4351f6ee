//! The types that a page declares.

/// Types that a page declares by schema.org and Open Graph.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kinds {
    pub(crate) article: bool,
    pub(crate) forum: bool,
    pub(crate) product: bool,
    pub(crate) list: bool,
    /// FAQPage: questions and answers by the publisher.
    pub(crate) faq: bool,
}

impl Kinds {
    pub(crate) fn read(&mut self, name: &str) {
        self.article |=
            name.contains("Article") || name.contains("BlogPosting") || name == "article";
        self.forum |= matches!(name, "DiscussionForumPosting" | "QAPage" | "Question");
        self.product |= matches!(name, "Product" | "product");
        self.faq |= name == "FAQPage";
        self.list |= matches!(name, "ItemList" | "CollectionPage" | "SearchResultsPage");
    }

    /// Returns whether the page is a discussion. An FAQ also declares its entries as questions.
    pub(crate) const fn is_discussion(self) -> bool {
        self.forum && !self.faq
    }

    /// Reads the first 32 types in a piece of JSON-LD, without parsing it.
    pub(crate) fn read_json(&mut self, json: &str) {
        for rest in json.split("\"@type\"").skip(1).take(32) {
            let value = rest.trim_start_matches([' ', ':', '\n', '\t', '[']);
            if let Some(name) = value.strip_prefix('"').and_then(|value| value.split('"').next()) {
                self.read(name);
            }
        }
    }
}
