// Runs the tests for a browser's cache of http-tests/cache-tests with the suite's own client. Only its `fetch` is
// replaced, by a program that performs the requests with Wynd.
//
//   node suite.mjs SUITE BASE EXPECTED PROGRAM [ARGUMENT]      fails if a required test fails that is not in EXPECTED
import { spawn } from 'child_process'
import { readFileSync } from 'fs'
import { createInterface } from 'readline'
import { pathToFileURL } from 'url'

const [suite, base, expected, program, ...programArguments] = process.argv.slice(2)
const child = spawn(program, programArguments, { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
createInterface({ input: child.stdout }).on('line', line => {
  const answer = JSON.parse(line)
  waiting.get(answer.id)?.(answer)
  waiting.delete(answer.id)
})
const write = object => child.stdin.write(JSON.stringify(object) + '\n')

let last = 0
const foreign = []
globalThis.fetch = async (url, init = {}) => {
  const id = ++last
  // Fields of the same name are joined, as `Headers` does it.
  const fields = new Map()
  for (const [name, value] of init.headers ?? []) {
    const old = fields.get(name.toLowerCase())
    fields.set(name.toLowerCase(), [name, old ? `${old[1]}, ${value}` : String(value)])
  }
  if (init.body && !fields.has('content-type')) fields.set('content-type', ['Content-Type', 'text/plain;charset=UTF-8'])
  const { method = 'GET', body, cache, redirect } = init
  const answer = await new Promise((resolve, reject) => {
    waiting.set(id, resolve)
    init.signal?.addEventListener('abort', () => {
      if (!waiting.delete(id)) return
      write({ id, cancels: true })
      reject(Object.assign(new Error('aborted'), { name: 'AbortError' }))
    })
    write({ id, method, url, headers: [...fields.values()], body, cache, redirect })
  })
  if (answer.error !== undefined) throw new TypeError(answer.error)
  // The body of most tests is the token of their URL.
  const token = /\/test\/([0-9a-f-]{36})/.exec(url)?.[1]
  if (token && /^[0-9a-f-]{36}$/.test(answer.body) && answer.body !== token) foreign.push(url)
  return new Response([204, 205, 304].includes(answer.status) ? null : answer.body, answer)
}

const load = path => import(pathToFileURL(`${suite}/${path}`).href)
const { runTests, getResults } = await load('test-engine/client/runner.mjs')
const suites = (await load('tests/index.mjs')).default
await runTests(suites, true, base, 25)
child.stdin.end()

const results = getResults()
const tests = suites.flatMap(suite => suite.tests).filter(test => results[test.id] !== undefined)
for (const kind of ['required', 'optimal']) {
  const ofKind = tests.filter(test => (test.kind ?? 'required') === kind)
  console.log(`${kind}: ${ofKind.filter(test => results[test.id] === true).length} of ${ofKind.length}`)
}
const isExpected = new Set(readFileSync(expected, 'utf8').split('\n').map(line => line.split(' ')[0]))
const failed = tests.filter(test => (test.kind ?? 'required') === 'required' && results[test.id] !== true)
const isNew = failed.filter(test => !isExpected.has(test.id))
for (const { id } of isNew) console.log(`${id}: ${results[id].join(': ')}`)
for (const url of foreign) console.log(`the body of another URL: ${url}`)
process.exit(isNew.length + foreign.length > 0 || tests.length < 200 ? 1 : 0)
