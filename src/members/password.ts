import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { type HashClient, HashQueue } from './hash-queue.ts'

/** argon2id with the first choice of the OWASP cheat sheet: 19 MiB, 2 passes; about 80 ms on a slow core. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 }
const TAG_BYTES = 32
const MIN_LENGTH = 12
const MAX_LENGTH = 200

const hashAsync = promisify(argon2)
// Hashing runs on the thread pool that DNS and compression share, so only one thread is used and the queue is bounded.
const queue = new HashQueue()

function hash(client: HashClient, password: string, nonce: Buffer, cost: typeof COST): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFKC'))
  return queue.run(client, () => hashAsync('argon2id', { message, nonce, tagLength: TAG_BYTES, ...cost }))
}

/** In PHC string format, so that the cost can change later. */
export async function hashPassword(password: string, client: HashClient): Promise<string> {
  const salt = randomBytes(16)
  return phc(COST, salt, await hash(client, password, salt, COST))
}

function phc({ memory, passes, parallelism }: typeof COST, salt: Buffer, tag: Buffer): string {
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(salt)}$${text(tag)}`
}

const UNKNOWN = phc(COST, randomBytes(16), randomBytes(TAG_BYTES))

/** Takes the same time for an account that does not exist or has no password (null). */
export async function passwordMatches(
  password: string,
  stored: string | null | undefined,
  client: HashClient,
): Promise<boolean> {
  const [, , , cost = '', salt = '', tag = ''] = (stored ?? UNKNOWN).split('$')
  const [memory = 0, passes = 0, parallelism = 0] = cost.split(',').map((part) => Number(part.slice(2)))
  const expected = Buffer.from(tag, 'base64')
  const actual = await hash(client, password, Buffer.from(salt, 'base64'), { memory, passes, parallelism })
  return timingSafeEqual(actual, expected) && typeof stored === 'string'
}

/** The reason why a password cannot be used. Length counts most, so there are no rules about kinds of characters. */
export function passwordMistake(
  password: string,
  { email, name }: { email: string; name: string },
): string | undefined {
  if (password.length < MIN_LENGTH) return `password must have at least ${MIN_LENGTH} characters.`
  if (password.length > MAX_LENGTH) return `password must have at most ${MAX_LENGTH} characters.`
  if (new Set(password).size < 5) return 'password must have at least 5 different characters.'
  const known = [email, email.split('@')[0] ?? '', name, 'password', 'manilla'].map((text) => text.toLowerCase())
  const rest = known.reduce((text, word) => (word === '' ? text : text.replaceAll(word, '')), password.toLowerCase())
  return rest.length < MIN_LENGTH / 2
    ? 'password must not consist of your name, your e-mail address or a common word.'
    : undefined
}
