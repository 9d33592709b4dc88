import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram, type Metric, Registry } from 'prom-client'
import { RequestTimes } from './request-times.ts'

test('request times read like those of prom-client itself', async () => {
  const ours = new Registry()
  const theirs = new Registry()
  const times = new RequestTimes()
  ours.registerMetric(times as unknown as Metric)
  const { name, help } = await times.get()
  const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  const reference = new Histogram({
    name,
    help,
    labelNames: ['method', 'route', 'status'],
    buckets,
    registers: [theirs],
  })
  for (const [method, route, status, seconds] of [
    ['POST', '/a', 201, 0.001],
    ['POST', '/a', 201, 0.0011],
    ['POST', '/a', 400, 11],
    ['GET', '/a', 200, 0],
    ['GET', '/b', 200, 10],
  ] as const) {
    times.observe(method, route, status, seconds)
    reference.labels({ method, route, status }).observe(seconds)
  }
  assert.equal(await ours.metrics(), await theirs.metrics())
})
