// Writes prices.jsonl and LICENSE from the pinned package; run by `go generate ./third_party/genai-prices`.
//
// The first line of prices.jsonl says where the figures are from. Each further line is one provider, so that a reader
// parses only the one it needs. Prices are US dollars for a million tokens; what is not about text tokens is left out.
import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { waitForUpdate } from '@pydantic/genai-prices'

const name = '@pydantic/genai-prices'
const folder = `node_modules/${name}`
const { version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
const published = JSON.parse(execFileSync('npm', ['view', `${name}@${version}`, 'time', '--json'], { encoding: 'utf8' }))
const date = published[version]?.slice(0, 10)
if (!date) throw new Error(`the registry does not say when ${name} ${version} was published`)

const keys = {
  input_mtok: 'in', output_mtok: 'out', cache_read_mtok: 'read', cache_write_mtok: 'write',
  output_reasoning_mtok: 'reason', requests_kcount: 'krequests',
}

function price(prices) {
  const out = {}
  for (const [key, short] of Object.entries(keys)) {
    const value = prices[key]
    if (value === undefined) continue
    out[short] = typeof value === 'number' ? value : [value.base, ...value.tiers.map((t) => [t.start, t.price])]
  }
  return out
}

function conditional({ constraint, prices }) {
  const out = price(prices)
  switch (constraint?.type) {
    case undefined: break
    case 'start_date': out.from = constraint.start_date; break
    case 'time_of_date': {
      out.hours = [constraint.start_time, constraint.end_time]
      if (!out.hours.every((t) => /^\d\d:\d\d:\d\dZ$/.test(t))) throw new Error(`not in UTC: ${out.hours}`)
      break
    }
    default: throw new Error(`unknown constraint ${JSON.stringify(constraint)}`)
  }
  return out
}

// Models are matched in lower case. Go's regular expressions have no lookahead; the one form in use, a pattern that is
// nothing but a negative lookahead, becomes a "not".
function match(m) {
  const [[key, value]] = Object.entries(m)
  switch (key) {
    case 'or': return { or: value.map(match) }
    case 'and': return { and: value.map(match) }
    case 'regex': {
      const not = /^\^\(\?!((?:[^()]|\(\?:[^()]*\))*)\)$/.exec(value)
      if (not) return { not: { regex: `^(?:${not[1]})` } }
      if (value.includes('(?!') || value.includes('(?<') || value.includes('(?=')) throw new Error(`cannot translate ${value}`)
      return { regex: value }
    }
    case 'equals': case 'starts_with': case 'ends_with': case 'contains': return { [key]: value.toLowerCase() }
    default: throw new Error(`unknown match clause ${key}`)
  }
}

const lines = [{ source: `npm:${name}`, version, date }]
for (const p of await waitForUpdate()) {
  lines.push({
    id: p.id,
    url: p.api_pattern,
    fallback: p.fallback_model_providers,
    models: p.models.map((m) => ({
      id: m.id,
      match: match(m.match),
      context: m.context_window,
      deprecated: m.deprecated || undefined,
      prices: Array.isArray(m.prices) ? m.prices.map(conditional) : [price(m.prices)],
    })),
  })
}
writeFileSync('prices.jsonl', lines.map((l) => JSON.stringify(l) + '\n').join(''))
copyFileSync(`${folder}/LICENSE`, 'LICENSE')
