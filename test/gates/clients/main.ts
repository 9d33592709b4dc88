// `npm run gate -- clients`: lint and static analysis of the clients for PHP and Python, the suite of
// clients/conformance for each language, with a killed service, and the samples in examples/. As root it installs from
// Debian what is missing. WOOCOMMERCE: the folder of a WordPress with WooCommerce, for the plug-in.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { requireTools, type Tool } from '../tools.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PYTHON = '/usr/lib/python3/dist-packages'

const TOOLS: Tool[] = [
  { name: 'php', path: '/usr/bin/php', package: 'php-cli' },
  ...['curl', 'mbstring', 'mysqli'].map((name) => ({
    name: `php-${name}`,
    path: globSync(`/usr/lib/php/*/${name}.so`)[0] ?? `/usr/lib/php/${name}.so`,
    package: `php-${name === 'mysqli' ? 'mysql' : name}`,
  })),
  { name: 'guzzle', path: '/usr/share/php/GuzzleHttp/autoload.php', package: 'php-guzzlehttp-guzzle' },
  { name: 'composer', path: '/usr/bin/composer', package: 'composer' },
  { name: 'mariadbd', path: '/usr/sbin/mariadbd', package: 'mariadb-server' },
  { name: 'python3', path: '/usr/bin/python3', package: 'python3' },
  { name: 'mypy', path: '/usr/bin/mypy', package: 'mypy' },
  { name: 'flask', path: `${PYTHON}/flask/__init__.py`, package: 'python3-flask' },
  { name: 'django', path: `${PYTHON}/django/__init__.py`, package: 'python3-django' },
]

function install(): void {
  const packages = TOOLS.filter(({ path }) => !existsSync(path)).map((tool) => tool.package)
  if (packages.length === 0 || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  spawnSync('apt-get', ['update', '-qq'], { stdio: 'inherit', env })
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], { stdio: 'inherit', env })
}

let failed = 0

function check(command: string, args: string[], { cwd = ROOT, env = {} } = {}): void {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status === 0) return
  failed++
  process.stdout.write(`FAILED: ${command} ${args.join(' ')}\n`)
}

install()
requireTools(TOOLS)
const php = globSync('{clients,examples}/**/*.php', { cwd: ROOT })
for (const file of php) check('sh', ['-c', 'php -l "$1" > /dev/null', 'sh', file])
process.stdout.write(`php -l: ${php.length} files\n`)
check('composer', ['validate', '--strict', '--no-check-publish', '--no-interaction'], {
  cwd: join(ROOT, 'clients/php'),
  env: { COMPOSER_ALLOW_SUPERUSER: '1' },
})
check('mypy', ['src'], { cwd: join(ROOT, 'clients/python') })
if (existsSync('/usr/bin/phpstan'))
  check('phpstan', ['analyse', '--level=6', 'src'], { cwd: join(ROOT, 'clients/php') })
else process.stdout.write('phpstan is not a package of this Debian: the array shapes for PHP are not analysed\n')
if (!process.env.WOOCOMMERCE)
  process.stdout.write('The plug-in for WooCommerce is not tried: set WOOCOMMERCE to a WordPress with WooCommerce\n')
const files = ['test/journeys/client-conformance.test.ts', 'test/journeys/client-readmes.test.ts']
check(process.execPath, ['test/run.ts', ...files, ...globSync('test/clients/*.test.ts', { cwd: ROOT }).sort()], {
  env: { ALL_LANGUAGES: '1' },
})
process.exitCode = failed === 0 ? 0 : 1
