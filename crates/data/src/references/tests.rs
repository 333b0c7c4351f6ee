use std::path::{Path, PathBuf};
use std::sync::Arc;

use hapax_dedup::{Options, Policy, Store};
use hapax_extract::{Recipe, extract_plain};
use hapax_page::Evidence;
use hapax_page::comparison::{Compared, PageText};

use super::*;
use hapax_page::texts::PackedText;

const RIVER: &str = "The old mill stands on the river, and the miller has been there for as long as the people of the \
    village can remember. In the spring the water is high and the wheel turns all day, so that the flour is ready \
    before the market. In the summer it is low, and he has the time to mend what the winter has broken.";
const BAKER: &str = "When the baker opens the door of her shop it is still dark, and the smell of the bread goes down \
    the street to the houses where the children are asleep. She has the same four loaves every day and one that is \
    new each week, which is why her neighbours come on a Monday and not on any other day of it.";

struct Page {
    evidence: Evidence,
    text: Arc<Compared>,
}

fn page(text: &str) -> Page {
    let document =
        extract_plain(Some("text/plain; charset=utf-8"), text.as_bytes(), &Default::default());
    let evidence = Evidence::of(&document, Recipe::default());
    let text = Arc::new(Compared::new(PageText::of(&document, &evidence.comparison_text)));
    Page { evidence, text }
}

/// Makes a data directory with these documents: keys and texts.
fn made(data: &Path, documents: &[(&str, &str)]) {
    let options = Options {
        recipe: Recipe::default().name().to_owned(),
        strong_digests: true,
        ..Options::default()
    };
    let store = Store::open(data.join("dedup"), options).unwrap();
    let texts = TextStore::open(&data.join("texts"));
    for (key, text) in documents {
        let page = page(text);
        let id = store.insert(&page.evidence.document(key.as_bytes(), None, 0), None).unwrap();
        texts.insert(id, key.as_bytes(), PackedText::of(page.text.page()), &page.text);
    }
    texts.commit().unwrap();
    store.commit(b"").unwrap();
    store.close().unwrap();
}

fn found(references: &References, text: &str, distinct: &[&str]) -> Vec<InReference> {
    let page = page(text);
    let document = page.evidence.document(b"new", None, 0);
    let wanted = Wanted { document: &document, former: None, text: &page.text };
    let is_distinct = |url: &str| distinct.contains(&url);
    let is_distinct: Option<&dyn Fn(&str) -> bool> =
        if distinct.is_empty() { None } else { Some(&is_distinct) };
    references.find(wanted, is_distinct).unwrap()
}

fn named(found: &[InReference]) -> Vec<(String, String)> {
    let name = |store: &str| store.rsplit('/').next().unwrap().to_owned();
    found.iter().map(|found| (name(&found.store), found.url.clone())).collect()
}

fn open(paths: &[PathBuf], marks: bool) -> Result<References> {
    References::open(paths, Policy::default(), marks)
}

#[test]
fn references_are_searched_in_order_and_without_marks_until_one_has_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, three] = ["one", "two", "three"].map(|name| folder.path().join(name));
    let long = format!("{RIVER} {BAKER}");
    made(&one, &[("baker", BAKER)]);
    made(&two, &[("river", &long), ("mill", &format!("{long} It was built in 1820."))]);
    made(&three, &[("elsewhere http://c.example/", &long)]);
    let near = format!("{long} Printed on a Monday.");
    let all = open(&[one.clone(), two.join("dedup"), three.clone(), two.clone()], false).unwrap();
    // A repeated store is opened once, under its first name.
    let two_and_three = [
        ("dedup".to_owned(), "river".to_owned()),
        ("three".to_owned(), "http://c.example/".to_owned()),
    ];
    let first = found(&all, &near, &[]);
    assert_eq!(named(&first), two_and_three[..1]);
    assert!(first[0].compared.is_some() && first[0].text.is_some());
    let marking = open(&[one, two.join("dedup"), three, two], true).unwrap();
    assert_eq!(named(&found(&marking, &near, &[])), two_and_three);
    assert_eq!(named(&found(&marking, BAKER, &[])).len(), 1);
    assert!(
        found(&marking, "Quite another text, of the sea and of the ships that sail on it.", &[])
            .is_empty()
    );
    // A document from which the page was declared distinct is passed over, not its whole store.
    let others = named(&found(&all, &long, &["river"]));
    assert_eq!(others, [("dedup".to_owned(), "mill".to_owned())]);
    assert_eq!(named(&found(&all, &long, &["river", "mill"]))[0].0, "three");
}

#[test]
fn a_store_without_texts_decides_by_sketches() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    made(&data, &[("river", RIVER)]);
    // A copy of the store alone, beside texts of something else.
    std::fs::rename(data.join("dedup"), data.join("copy")).unwrap();
    let all = open(&[data.join("copy")], false).unwrap();
    let found = found(&all, RIVER, &[]);
    assert_eq!(found.len(), 1);
    assert!(found[0].compared.is_none() && found[0].text.is_none());
    assert_eq!(all.all[0].text("river").unwrap(), None);
}

#[test]
fn what_is_not_a_readable_store_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    made(&data, &[("river", RIVER)]);
    let error = |path: &Path| open(&[path.to_owned()], false).unwrap_err();
    for missing in [folder.path().to_owned(), folder.path().join("nothing"), data.join("texts")] {
        let error = error(&missing);
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        assert!(error.to_string().contains(missing.to_str().unwrap()), "{error}");
    }
    assert!(!folder.path().join("nothing").exists());
    let fits = open(std::slice::from_ref(&data), false).unwrap();
    fits.must_fit(Recipe::default(), &folder.path().join("own")).unwrap();
    let other = Recipe::parse("token-window-4").unwrap();
    let refused = fits.must_fit(other, &folder.path().join("own")).unwrap_err().to_string();
    let build = format!("reference build FILES --data NEW --recipe {}`", other.name());
    let run = format!("new data directory with --recipe {}", Recipe::default().name());
    assert!(refused.contains(&build) && refused.ends_with(&run), "{refused}");
    // With an archive, the command reads it.
    std::fs::create_dir(data.join("pages")).unwrap();
    let refused = fits.must_fit(other, &folder.path().join("own")).unwrap_err().to_string();
    assert!(
        refused.contains("`crawl pages ") && refused.contains("/pages --data NEW"),
        "{refused}"
    );
    std::fs::remove_dir(data.join("pages")).unwrap();
    let itself = fits.must_fit(Recipe::default(), &data.join("dedup")).unwrap_err().to_string();
    assert!(itself.contains("the data directory of the job itself"), "{itself}");
    // Each part that is missing or damaged.
    std::fs::rename(data.join("texts/places"), data.join("moved")).unwrap();
    let without = error(&data);
    assert!(matches!(&without, Error::Damaged(what) if what.contains("texts/places")), "{without}");
    std::fs::rename(data.join("moved"), data.join("texts/places")).unwrap();
    let manifest = data.join("dedup/MANIFEST");
    let good = std::fs::read(&manifest).unwrap();
    std::fs::write(&manifest, &good[1..]).unwrap();
    let damaged = error(&data);
    assert!(matches!(&damaged, Error::Damaged(what) if what.contains("MANIFEST")), "{damaged}");
    std::fs::remove_file(&manifest).unwrap();
    let gone = error(&data);
    assert!(matches!(&gone, Error::Damaged(what) if what.contains("MANIFEST")), "{gone}");
    let body = "hapax-dedup 99\nrecipe x\njournal 1";
    let sum = crc32fast::hash(body.as_bytes());
    std::fs::write(&manifest, format!("{body}\ncrc32 {sum:08x}\n")).unwrap();
    let version = error(&data).to_string();
    assert!(
        version.contains("format 99") && version.contains("crawl reference build"),
        "{version}"
    );
}
