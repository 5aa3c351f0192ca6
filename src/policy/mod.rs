//! Cedar's only home: schema, layers, load, evaluate, explain.
