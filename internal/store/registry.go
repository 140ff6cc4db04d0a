package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
)

// Trust is how far the runs of an account count. A view at a level shows this level and those above.
type Trust int

// The levels of trust.
const (
	Anonymous Trust = iota
	Known
	Trusted
)

// String returns the word for a level.
func (t Trust) String() string {
	return [...]string{"anonymous", "known", "trusted"}[min(max(t, Anonymous), Trusted)]
}

// ParseTrust returns the level with a word.
func ParseTrust(word string) (Trust, error) {
	words := []string{Anonymous.String(), Known.String(), Trusted.String()}
	i := slices.Index(words, word)
	if i < 0 {
		return 0, plumb.WithHint(fmt.Errorf("unknown trust %q", word), "one of "+strings.Join(words, ", "))
	}
	return Trust(i), nil
}

// The rows that a new database has: the project and the account of a machine.
const (
	DefaultProject = 1
	LocalAccount   = 1
)

// Account is somebody who sends runs.
type Account struct {
	ID    int64
	Name  string
	Trust Trust
}

// AddAccount makes an account, or returns the one with this name.
func (s *Store) AddAccount(ctx context.Context, name string, trust Trust) (*Account, error) {
	err := s.write(ctx, 1, func(t *tx) {
		n := t.exec("INSERT INTO account (name, trust, created) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
			name, int64(trust), ms(s.now()))
		if n > 0 {
			t.audit(0, "account added", name, trust.String())
		}
	})
	if err != nil {
		return nil, err
	}
	return single(ctx, s, "SELECT id, name, trust FROM account WHERE name = $1", []any{name},
		func(rows *sql.Rows, a *Account) error { return rows.Scan(&a.ID, &a.Name, &a.Trust) })
}

// Project is what runs belong to.
type Project struct {
	ID               int64
	Slug, Visibility string
}

// Project returns a project by its name in addresses.
func (s *Store) Project(ctx context.Context, slug string) (*Project, error) {
	return single(ctx, s, "SELECT id, slug, visibility FROM project WHERE slug = $1", []any{slug},
		func(rows *sql.Rows, p *Project) error { return rows.Scan(&p.ID, &p.Slug, &p.Visibility) })
}

// Token is what a secret allows.
type Token struct {
	// Prefix is the beginning of the secret, by which people tell tokens apart.
	Prefix           string
	Account, Project int64
	AccountName      string
	Scopes           []string
}

// Allows reports whether the token has a scope.
func (t *Token) Allows(scope string) bool { return slices.Contains(t.Scopes, scope) }

const (
	tokenStart  = "plumb_"
	tokenRandom = 32
	tokenShown  = 6 // of the random characters
)

// AddToken makes a token for an account in a project. Its secret is not stored, and cannot be had again.
func (s *Store) AddToken(
	ctx context.Context, account, project int64, scopes []string, expires time.Time,
) (secret string, err error) {
	random := strings.ToLower(rand.Text() + rand.Text())[:tokenRandom]
	secret = tokenStart + random + tokenSum(random)
	prefix := secret[:len(tokenStart)+tokenShown]
	sum := sha256.Sum256([]byte(secret))
	return secret, s.write(ctx, 1, func(t *tx) {
		t.exec(`INSERT INTO token (hash, prefix, account, project, scopes, created, expires)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			sum[:], prefix, account, project, strings.Join(scopes, " "), ms(s.now()), ms(expires))
		t.audit(account, "token added", prefix, strings.Join(scopes, " "))
	})
}

// tokenSum is a checksum by which a mistyped or cut token is told without the database.
func tokenSum(random string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(random))) }

// Token returns what a secret allows. The error is [ErrNotFound] if it allows nothing, or no longer.
func (s *Store) Token(ctx context.Context, secret string) (*Token, error) {
	random, ok := strings.CutPrefix(secret, tokenStart)
	if !ok || len(random) != tokenRandom+hex.EncodedLen(crc32.Size) || tokenSum(random[:tokenRandom]) != random[tokenRandom:] {
		return nil, ErrNotFound
	}
	sum := sha256.Sum256([]byte(secret))
	return single(ctx, s, `SELECT t.prefix, t.account, a.name, t.project, t.scopes FROM token t JOIN account a ON a.id = t.account
		WHERE t.hash = $1 AND t.expires > $2`, []any{sum[:], ms(s.now())}, func(rows *sql.Rows, t *Token) error {
		var scopes string
		err := rows.Scan(&t.Prefix, &t.Account, &t.AccountName, &t.Project, &scopes)
		t.Scopes = strings.Fields(scopes)
		return err
	})
}

// Suite is a suite that the server knows.
type Suite struct {
	Hash, Name string
	// Data is its file of JSON lines.
	Data []byte
}

// AddSuite stores a suite. One that is there stays.
func (s *Store) AddSuite(ctx context.Context, account int64, suite Suite) error {
	packed := s.pack.pack(suite.Data)
	return s.write(ctx, 1, func(t *tx) {
		n := t.exec(`INSERT INTO suite (hash, name, data, account, created) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (hash) DO NOTHING`, suite.Hash, suite.Name, packed, account, ms(s.now()))
		if n > 0 {
			t.audit(account, "suite added", suite.Hash, suite.Name)
		}
	})
}

// Suite returns a suite by its hash.
func (s *Store) Suite(ctx context.Context, hash string) (*Suite, error) {
	return single(ctx, s, "SELECT hash, name, data FROM suite WHERE hash = $1", []any{hash},
		func(rows *sql.Rows, suite *Suite) error {
			var packed []byte
			if err := rows.Scan(&suite.Hash, &suite.Name, &packed); err != nil {
				return err
			}
			var err error
			suite.Data, err = s.pack.unpack(packed)
			return err
		})
}

// audit records who changed what.
func (t *tx) audit(account int64, action, subject, detail string) {
	t.exec("INSERT INTO audit (at, account, action, subject, detail) VALUES ($1, $2, $3, $4, $5)",
		ms(t.store.now()), account, action, subject, detail)
}

// Setting returns the value of a setting, or "".
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.query(ctx, "SELECT value FROM setting WHERE name = $1", []any{name}, func(rows *sql.Rows) error {
		return rows.Scan(&value)
	})
	return value, err
}

// SetSetting changes a setting.
func (s *Store) SetSetting(ctx context.Context, account int64, name, value string) error {
	return s.write(ctx, 1, func(t *tx) {
		t.exec(`INSERT INTO setting (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
		t.audit(account, "setting changed", name, value)
	})
}
