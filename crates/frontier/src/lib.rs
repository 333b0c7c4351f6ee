//! What a crawler fetches next: URL normal form, per-host queues, durable state.
