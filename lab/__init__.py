"""What only this project uses: reports on recorded traffic, oracles, fault and integration tables, generated pages."""
