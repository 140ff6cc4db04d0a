-- +goose Up
CREATE TABLE account (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    trust   INTEGER NOT NULL,
    created INTEGER NOT NULL
);

CREATE TABLE project (
    id         INTEGER PRIMARY KEY,
    slug       TEXT NOT NULL UNIQUE,
    visibility TEXT NOT NULL,
    created    INTEGER NOT NULL
);

CREATE TABLE token (
    hash    BLOB PRIMARY KEY,
    prefix  TEXT NOT NULL,
    account INTEGER NOT NULL,
    project INTEGER NOT NULL,
    scopes  TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL
);
CREATE INDEX token_account ON token (account);

CREATE TABLE suite (
    hash    TEXT PRIMARY KEY,
    name    TEXT NOT NULL,
    data    BLOB NOT NULL,
    account INTEGER NOT NULL,
    created INTEGER NOT NULL
);

CREATE TABLE audit (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    account INTEGER NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail  TEXT NOT NULL
);
CREATE INDEX audit_at ON audit (at);

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE run (
    id            INTEGER PRIMARY KEY,
    public_id     TEXT NOT NULL UNIQUE,
    project       INTEGER NOT NULL,
    account       INTEGER NOT NULL,
    digest        TEXT NOT NULL,
    bytes         INTEGER NOT NULL,
    run_id        TEXT NOT NULL,
    suite_hash    TEXT NOT NULL,
    suite_name    TEXT NOT NULL,
    suite_version TEXT NOT NULL,
    tier          TEXT NOT NULL,
    judge         TEXT NOT NULL,
    share         TEXT NOT NULL,
    trust         INTEGER NOT NULL,
    state         TEXT NOT NULL,
    held          TEXT NOT NULL,
    day           INTEGER NOT NULL,
    started       INTEGER NOT NULL,
    ended         INTEGER NOT NULL,
    received      INTEGER NOT NULL,
    finished      INTEGER NOT NULL,
    kept          INTEGER NOT NULL,
    planned       INTEGER NOT NULL,
    measured      INTEGER NOT NULL,
    passed        INTEGER NOT NULL,
    failed        INTEGER NOT NULL,
    errored       INTEGER NOT NULL,
    cost          INTEGER NOT NULL,
    context       TEXT NOT NULL,
    UNIQUE (project, run_id)
);
CREATE INDEX run_started ON run (project, started, id);
CREATE INDEX run_suite ON run (project, suite_name, started, id);
CREATE INDEX run_account ON run (account, started, id);
CREATE INDEX run_kept ON run (received) WHERE kept > 0;

CREATE TABLE run_label (
    run   INTEGER NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, name)
) WITHOUT ROWID;
CREATE INDEX run_label_value ON run_label (name, value, run);

CREATE TABLE log_chunk (
    run   INTEGER NOT NULL,
    no    INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (run, no)
);

CREATE TABLE panel (
    id         INTEGER PRIMARY KEY,
    project    INTEGER NOT NULL,
    key        BLOB NOT NULL,
    kind       TEXT NOT NULL,
    runner     TEXT NOT NULL,
    provider   TEXT NOT NULL,
    model      TEXT NOT NULL,
    suite_hash TEXT NOT NULL,
    suite_name TEXT NOT NULL,
    settings   TEXT NOT NULL,
    UNIQUE (project, key)
);

CREATE TABLE case_info (
    id         INTEGER PRIMARY KEY,
    project    INTEGER NOT NULL,
    key        BLOB NOT NULL,
    name       TEXT NOT NULL,
    hash       TEXT NOT NULL,
    category   TEXT NOT NULL,
    difficulty TEXT NOT NULL,
    UNIQUE (project, key)
);
CREATE INDEX case_info_name ON case_info (project, name);

CREATE TABLE answer (
    id      INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    hash    BLOB NOT NULL,
    packed  INTEGER NOT NULL,
    text    BLOB NOT NULL,
    UNIQUE (project, hash)
);

CREATE TABLE result (
    run         INTEGER NOT NULL,
    runner      INTEGER NOT NULL,
    no          INTEGER NOT NULL,
    repetition  INTEGER NOT NULL,
    panel       INTEGER NOT NULL,
    case_info   INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    class       TEXT NOT NULL,
    score       INTEGER NOT NULL,
    tokens      INTEGER,
    cost        INTEGER,
    latency     INTEGER,
    served      TEXT NOT NULL,
    answer_hash BLOB,
    answer      INTEGER,
    fresh       INTEGER NOT NULL,
    PRIMARY KEY (run, runner, no, repetition)
) WITHOUT ROWID;
CREATE INDEX result_case ON result (case_info, run);
CREATE INDEX result_answer ON result (answer) WHERE answer IS NOT NULL;

CREATE TABLE run_sum (
    run      INTEGER NOT NULL,
    runner   INTEGER NOT NULL,
    category TEXT NOT NULL,
    fresh    INTEGER NOT NULL,
    panel    INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    planned  INTEGER NOT NULL,
    measured INTEGER NOT NULL,
    passed   INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    errored  INTEGER NOT NULL,
    score    INTEGER NOT NULL,
    squares  INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    cost     INTEGER NOT NULL,
    latency  INTEGER NOT NULL,
    timed    INTEGER NOT NULL,
    PRIMARY KEY (run, runner, category, fresh)
) WITHOUT ROWID;
CREATE INDEX run_sum_panel ON run_sum (panel, day, run);

CREATE TABLE panel_day (
    panel    INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    trust    INTEGER NOT NULL,
    category TEXT NOT NULL,
    runs     INTEGER NOT NULL,
    planned  INTEGER NOT NULL,
    measured INTEGER NOT NULL,
    passed   INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    errored  INTEGER NOT NULL,
    score    INTEGER NOT NULL,
    squares  INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    cost     INTEGER NOT NULL,
    latency  INTEGER NOT NULL,
    timed    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    PRIMARY KEY (panel, day, trust, category)
) WITHOUT ROWID;

INSERT INTO project (id, slug, visibility, created) VALUES (1, 'default', 'members', 0);
INSERT INTO account (id, name, trust, created) VALUES (1, 'local', 1, 0);
