"""HTTP interface that bert-serve uses: protocols, application, pages and server."""
