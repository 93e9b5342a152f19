"""The app agents: model participants. It imports loom; loom never imports it."""
