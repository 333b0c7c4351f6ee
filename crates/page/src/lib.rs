/*!
What the duplicate decision knows of a web page: extraction and fingerprints brought together.

# Brief overview

- [`Kind::of`] says whether bytes are a page at all, [`Kind::read`] makes a document of them.
- [`Evidence::of`] is what the decision looks at: fingerprint, sketch, names, numbers. A program that makes
  them by these functions can share a store with every other one that does.
- [`examples`] shows a person what two texts share; [`stand_in`] stands for that of a page without one, [`as_it_stands`] is what its links are.

```
use hapax_page::{Evidence, Kind};
use url::Url;

let body = b"<p>The river is long, and the boats that are on it are small.</p>";
let url = Url::parse("http://a.example/river").unwrap();
let document = Kind::of(None, body).unwrap().read(&url, None, body);
let evidence = Evidence::of(&document, hapax_extract::Recipe::default());
let stored = evidence.document(b"http://a.example/river", Some(&url), 0);
assert_eq!(stored.fingerprint, evidence.fingerprint);
```
*/
#![forbid(unsafe_code)]

mod evidence;
mod examples;
mod kind;
mod stand_in;

pub use evidence::{Evidence, HASH, fingerprint, site_of};
pub use examples::examples;
pub use kind::Kind;
pub use stand_in::{as_it_stands, stand_in};
