import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { COMMANDS } from '../../src/cli/commands.ts';
import { flagOf } from '../../src/settings/option-error.ts';
import { ROOT } from '../cli/setup.ts';
import { folder } from '../export/setup.ts';
import { noteEqual, runLines } from './consumer.ts';

const EXAMPLES = join(ROOT, 'examples');
const REQUIREMENTS = readFileSync(join(import.meta.dirname, 'requirements.txt'), 'utf8');

function noteValid(tool: string, what: string, count: number): void {
  const [, version = ''] = new RegExp(`^${tool}==(.*)$`, 'm').exec(REQUIREMENTS) ?? [];
  noteEqual({ tool, version, what }, count);
}

test('check-jsonschema finds that the example for GitHub Actions is a workflow, and so are our own', async () => {
  const workflows = [join(EXAMPLES, 'github-actions/obsync.yml'), ...globSync(join(ROOT, '.github/workflows/*.yml'))];
  await runLines(`check-jsonschema --builtin-schema vendor.github-workflows ${workflows.join(' ')}`, folder(), {});
  noteValid('check-jsonschema', 'workflows of GitHub Actions', workflows.length);
});

interface PodTemplate {
  readonly metadata: { readonly labels: object };
  readonly spec: {
    readonly affinity?: object;
    readonly volumes: readonly object[];
    readonly containers: readonly [{ readonly args: readonly [string, ...string[]] }];
  };
}

interface KubernetesObject {
  readonly kind: string;
  readonly spec?: {
    readonly selector?: { readonly matchLabels: object };
    readonly template?: PodTemplate;
    readonly jobTemplate?: { readonly spec: { readonly template: PodTemplate } };
  };
}

const RESTRICTED = {
  automountServiceAccountToken: false,
  // Variables of the Service `obsync` would be read as options: OBSYNC_PORT=tcp://….
  enableServiceLinks: false,
  securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      resources: { requests: { cpu: expect.any(String), memory: expect.any(String) } },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    },
  ],
};

const ON_ONE_NODE = {
  podAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      {
        topologyKey: 'kubernetes.io/hostname',
        labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'obsync' } },
      },
    ],
  },
};

// A machine without kubectl leaves these out; the installation says so.
describe.runIf(spawnSync('kubectl', ['version', '--client']).status === 0).each([
  { overlay: 'base', commands: ['serve', 'sync', 'worker'] },
  { overlay: 'overlays/sqlite', commands: ['serve', 'sync'] },
  { overlay: 'overlays/postgres', commands: ['serve', 'sync', 'worker'] },
])('examples/kubernetes/$overlay', ({ overlay, commands }) => {
  let text: string;
  let objects: readonly KubernetesObject[];
  let pods: readonly PodTemplate[];
  beforeAll(async () => {
    text = await runLines(`kubectl kustomize ${join(EXAMPLES, 'kubernetes', overlay)}`, folder(), {});
    objects = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
    pods = objects.flatMap(({ spec }) => spec?.template ?? spec?.jobTemplate?.spec.template ?? []);
  });

  test('kubernetes-validate finds that its objects are those of the API', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'all.yaml'), text);
    await runLines('kubernetes-validate --strict --kubernetes-version 1.32 all.yaml', cwd, {});
    noteValid('kubernetes-validate', `examples/kubernetes/${overlay}`, objects.length);
  });

  test('its pods start the commands that its mirror needs, with options that these have', () => {
    const started = pods.map(({ spec }) => spec.containers[0].args);
    expect(started.map(([command]) => command).sort()).toEqual(commands);
    for (const [command, ...args] of started) {
      const options = COMMANDS.find(({ name }) => name === command)?.options ?? {};
      const flags = Object.keys(options).map((option) => `--${flagOf(option)}`);
      expect(flags).toEqual(expect.arrayContaining(args.map((word) => word.replace(/=.*/, ''))));
    }
  });

  test('its pods run without privileges and can write to their volumes only', () => {
    expect(pods).toMatchObject(pods.map(() => ({ spec: RESTRICTED })));
  });

  test('its servers are probed, and selected by labels that they have', () => {
    const deployments = objects.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec);
    const container = { livenessProbe: expect.any(Object), readinessProbe: expect.any(Object) };
    expect(deployments).toMatchObject(
      deployments.map((deployment) => ({
        template: { metadata: { labels: deployment?.selector?.matchLabels }, spec: { containers: [container] } },
      })),
    );
  });

  test('a sync never overlaps the next one', () => {
    expect(objects.filter(({ kind }) => kind === 'CronJob')).toMatchObject([{ spec: { concurrencyPolicy: 'Forbid' } }]);
  });

  test('pods that share the file of the mirror run on one node, the others anywhere', () => {
    for (const { spec } of pods) {
      const sharesFile = spec.volumes.some((volume) => 'persistentVolumeClaim' in volume);
      expect(spec.affinity).toEqual(sharesFile ? ON_ONE_NODE : undefined);
    }
    expect(pods.every(({ metadata }) => 'app.kubernetes.io/name' in metadata.labels)).toBe(true);
  });
});
