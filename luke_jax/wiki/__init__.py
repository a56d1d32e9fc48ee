"""From a MediaWiki dump to pretraining records."""
