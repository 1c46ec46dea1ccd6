// @test long 120
import { test } from 'node:test'
import { expectChain } from './xaes-chain.ts'

test('XAES-256-GCM gives what the specification says of a million chained messages', () => expectChain(1_000_000))
