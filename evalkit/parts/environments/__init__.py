"""One file a kind: worlds that an agent acts on."""
