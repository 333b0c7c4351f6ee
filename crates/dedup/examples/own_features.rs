//! Custom features: weights per kind, another hash, another tie rule.
//!
//!   cargo run -p hapax-dedup --example own_features
#![expect(clippy::print_stdout, reason = "an example talks")]

use hapax_dedup::{
    Document, FeatureHash, FeatureKind, Options, Simhash, Store, TieRule, Verdict, Weights,
};

/// A product page. The parts that identify it have larger weights.
struct Product {
    sku: &'static str,
    name: &'static str,
    text: &'static str,
    images: &'static [&'static str],
    category: &'static str,
}

/// The recipe is part of the data: a change to any of these lines needs a new name.
const RECIPE: &str = "products-1";
const HASH: FeatureHash = FeatureHash::Rapid;
const WEIGHTS: Weights = Weights { shingle: 1, title: 4, heading: 1, image: 3, value: 2 };

fn document(product: &Product) -> Document<'_> {
    let mut simhash = Simhash::with_tie(TieRule::One);
    let mut add = |kind, feature: &str| {
        simhash.add_kind(&WEIGHTS, kind, HASH.hash(feature.to_lowercase().as_bytes()));
    };
    product.name.split(' ').for_each(|word| add(FeatureKind::Title, word));
    let words: Vec<&str> = product.text.split(' ').collect();
    words.windows(2).for_each(|pair| add(FeatureKind::Shingle, &pair.join(" ")));
    product.images.iter().for_each(|image| add(FeatureKind::Image, image));
    add(FeatureKind::Value, product.category);
    Document::new(product.sku.as_bytes(), simhash.finish())
}

fn main() -> hapax_dedup::Result<()> {
    let products = [
        Product {
            sku: "A-1",
            name: "Kettle with a long spout",
            text: "a kettle of steel for two litres of water with a handle that stays cool",
            images: &["kettle-front", "kettle-side"],
            category: "kitchen",
        },
        Product {
            sku: "B-7",
            name: "Kettle with a long spout",
            text: "a kettle of steel for two litres of water with a handle that stays cold",
            images: &["kettle-front", "kettle-side"],
            category: "kitchen",
        },
        Product {
            sku: "C-3",
            name: "Spade for small gardens",
            text: "a spade of forged iron with a shaft of ash for gardens that are not large",
            images: &["spade"],
            category: "garden",
        },
    ];
    let mut options = Options { recipe: RECIPE.into(), ..Options::default() };
    options.policy.distance = 7;
    let store = Store::in_memory(options)?;
    for product in &products {
        match store.offer(&document(product))? {
            Verdict::New(_) => println!("{}: new", product.sku),
            Verdict::Known(_) => println!("{}: offered before", product.sku),
            Verdict::Duplicate { of, .. } => {
                println!("{}: like number {}, distance {}", product.sku, of.id, of.distance);
            }
        }
    }
    Ok(())
}
