import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { copyFile, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { freePort } from './free-port.ts'
import { eventually } from './paying.ts'
import { startMariaDb } from './samples.ts'
import { ROOT } from './snippets.ts'

export interface WordPress {
  url: string
  /** Calls test/support/woocommerce-trial.php. */
  // biome-ignore lint/suspicious/noExplicitAny: each call has its own answer
  trial(name: string, query?: Record<string, string>, body?: object): Promise<any>
}

const CONFIG = (socket: string, url: string, log: string) => `<?php
define('DB_NAME', 'shop');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:${socket}');
define('DB_CHARSET', 'utf8mb4');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define("\${name}_KEY", "a key of a test \${name}");
    define("\${name}_SALT", "a salt of a test \${name}");
}
define('WP_HOME', '${url}');
define('WP_SITEURL', '${url}');
define('WP_DEBUG', true);
define('WP_DEBUG_DISPLAY', false);
define('WP_DEBUG_LOG', '${log}');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
$table_prefix = 'wp_';
defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
`

const INSTALL = `
define('WP_INSTALLING', true);
require 'wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Shop', 'admin', 'admin@example.com', true, '', 'password');`

const activate = (plugin: string) => `
$_SERVER['REQUEST_URI'] = '/';
require 'wp-load.php';
require_once ABSPATH . 'wp-admin/includes/plugin.php';
exit(is_wp_error(activate_plugin('${plugin}')) ? 1 : 0);`

/** `source`: a WordPress with WooCommerce in it. It is copied, and gets a database of its own. */
export async function startWordPress(source: string): Promise<WordPress> {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-woocommerce-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const site = join(folder, 'site')
  await cp(source, site, { recursive: true })
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { DATABASE_DSN = '' } = await startMariaDb(folder)
  const socket = /unix_socket=([^;]+)/.exec(DATABASE_DSN)?.[1] ?? ''
  await writeFile(join(site, 'wp-config.php'), CONFIG(socket, url, join(folder, 'debug.log')))
  const plugin = join(site, 'wp-content/plugins/manilla')
  await cp(join(ROOT, 'clients/woocommerce'), plugin, { recursive: true })
  await cp(join(ROOT, 'clients/php/src'), join(plugin, 'lib'), { recursive: true })
  await mkdir(join(site, 'wp-content/mu-plugins'), { recursive: true })
  await copyFile(join(ROOT, 'test/support/woocommerce-trial.php'), join(site, 'wp-content/mu-plugins/trial.php'))
  const env = { PATH: process.env.PATH ?? '', PHP_CLI_SERVER_WORKERS: '6' }
  for (const code of [INSTALL, activate('woocommerce/woocommerce.php'), activate('manilla/manilla.php')]) {
    const made = spawnSync('php', ['-d', 'memory_limit=512M', '-r', code], { cwd: site, env, encoding: 'utf8' })
    assert.equal(made.status, 0, `${made.stdout}${made.stderr}`)
  }
  const server = spawn('php', ['-d', 'memory_limit=512M', '-S', `127.0.0.1:${port}`, '-t', site], {
    ...{ env, stdio: 'ignore', detached: true },
  })
  after(() => process.kill(-(server.pid as number), 'SIGKILL'))
  await eventually(
    () =>
      fetch(`${url}/?wc-api=trial_delivered`).then(
        ({ status }) => status,
        () => 0,
      ),
    (status) => status === 200,
  )
  return {
    url,
    async trial(name, query = {}, body) {
      const address = `${url}/?${new URLSearchParams({ 'wc-api': `trial_${name}`, ...query })}`
      const response = await fetch(address, body ? { method: 'POST', body: JSON.stringify(body) } : {})
      return response.json()
    },
  }
}
