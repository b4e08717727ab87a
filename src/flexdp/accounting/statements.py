"""Every SQL statement of the ledger, complete and constant. Values are always bound, never pasted."""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["CREATE_POSTGRES", "CREATE_SQLITE", "POSTGRES", "SCHEMA", "SQLITE"]

SCHEMA = 2

CREATE_SQLITE = (
    "CREATE TABLE flexdp_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE flexdp_datasets (name TEXT PRIMARY KEY, unit TEXT NOT NULL, by_period INTEGER NOT NULL,"
    " epsilon TEXT NOT NULL, delta TEXT NOT NULL, spent_epsilon TEXT NOT NULL, spent_delta TEXT NOT NULL,"
    " entries INTEGER NOT NULL, head TEXT NOT NULL) STRICT",
    "CREATE TABLE flexdp_entries (dataset TEXT NOT NULL REFERENCES flexdp_datasets (name), number INTEGER NOT NULL,"
    " kind TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, request TEXT NOT NULL, details TEXT NOT NULL,"
    " at TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, PRIMARY KEY (dataset, number)) STRICT",
    "CREATE TABLE flexdp_documents (dataset TEXT NOT NULL, number INTEGER NOT NULL, document TEXT NOT NULL,"
    " PRIMARY KEY (dataset, number)) STRICT",
    "CREATE INDEX flexdp_requests ON flexdp_entries (dataset, request, kind)",
)
CREATE_POSTGRES = tuple(
    statement.replace(") STRICT", ")").replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS")
    .replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS").replace(" INTEGER ", " BIGINT ")
    for statement in CREATE_SQLITE
)  # fmt: skip

_ENTRY = "dataset, number, kind, epsilon, delta, request, details, at, previous, hash"
_ACCOUNT = "name, unit, by_period, epsilon, delta, spent_epsilon, spent_delta, entries, head"
_BOTH = {
    "meta": "SELECT value FROM flexdp_meta WHERE key = ?",
    "set_meta": "UPDATE flexdp_meta SET value = ? WHERE key = ? AND value = ?",
    "new_meta": "INSERT INTO flexdp_meta (key, value) VALUES (?, ?)",
    "account": f"SELECT {_ACCOUNT} FROM flexdp_datasets WHERE name = ?",
    "accounts": f"SELECT {_ACCOUNT} FROM flexdp_datasets ORDER BY name",
    "new_account": f"INSERT INTO flexdp_datasets ({_ACCOUNT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "set_account": "UPDATE flexdp_datasets SET spent_epsilon = ?, spent_delta = ?, entries = ?, head = ?"
    " WHERE name = ? AND head = ?",
    "entry": f"SELECT {_ENTRY} FROM flexdp_entries WHERE dataset = ? AND number = ?",
    "new_entry": f"INSERT INTO flexdp_entries ({_ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "history": f"SELECT {_ENTRY} FROM flexdp_entries WHERE dataset = ? ORDER BY number",
    "orphans": "SELECT count(*) FROM flexdp_entries WHERE dataset NOT IN (SELECT name FROM flexdp_datasets)",
    "stored": "SELECT number FROM flexdp_entries WHERE dataset = ? AND request = ? AND kind = 'store'"
    " ORDER BY number DESC",
    "document": "SELECT document FROM flexdp_documents WHERE dataset = ? AND number = ?",
    "new_document": "INSERT INTO flexdp_documents (dataset, number, document) VALUES (?, ?, ?)",
}
SQLITE = MappingProxyType({**_BOTH, "locked_account": _BOTH["account"], "locked_meta": _BOTH["meta"]})
POSTGRES = MappingProxyType(
    {
        name: statement.replace("?", "%s")
        for name, statement in {
            **_BOTH,
            "locked_account": _BOTH["account"] + " FOR UPDATE",
            "locked_meta": _BOTH["meta"] + " FOR UPDATE",
        }.items()
    }
)
