"""Pictures → features: find, decode, embed by a backbone."""
