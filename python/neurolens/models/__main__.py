# SPDX-License-Identifier: Apache-2.0
"""Runs models by configuration, with labelled stages.

  python3 -m neurolens.models list                                   workload files that come with NeuroLens
  python3 -m neurolens.models show --config llama_8b --resolved      one of them after variant and overrides
  neurolens run -- python3 -m neurolens.models run --config llama_8b --set model.hf.num_hidden_layers=4
"""
import argparse
import json
import sys

from . import config as configs


def _parser():
    parser = argparse.ArgumentParser(prog="python3 -m neurolens.models", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="list|show|run|count")
    listed = commands.add_parser("list", help="names of the workload files that come with NeuroLens")
    listed.add_argument("--json", action="store_true", help="as JSON")
    for name, text in (("show", "print a workload file"), ("run", "build the model and run it"),
                       ("count", "parameters of the model, counted by torch without memory for them")):
        one = commands.add_parser(name, help=text)
        one.add_argument("--config", required=True, metavar="FILE", help="workload file, or the name of one that comes with NeuroLens")
        one.add_argument("--set", action="append", default=[], metavar="KEY.PATH=VALUE", dest="sets",
                         help="override one setting; variant=tiny chooses the small variant for tests")
        if name == "show":
            one.add_argument("--resolved", action="store_true", help="after variant, overrides and defaults")
        if name != "show":
            one.add_argument("--json", action="store_true", help="result as JSON")
        if name == "run":
            one.add_argument("--kineto", metavar="FILE", help="record with torch.profiler into FILE (.json or .json.gz), with module ranges")
    return parser


def _show(args):
    if args.resolved or args.sets:
        print(configs.text(configs.load(args.config, args.sets)), end="")
        return
    configs.load(args.config)
    with open(configs.find(args.config), encoding="utf-8") as file:
        print(file.read(), end="")


def _list(args):
    found = [(name, configs.load(name).get("description", "")) for name in configs.shipped()]
    if args.json:
        print(json.dumps([{"name": name, "description": text} for name, text in found]))
        return
    for name, text in found:
        print(f"{name:18} {text}")


def count(config):
    """Parameters by torch on the meta device."""
    from .run import need, target

    need("torch", "counting parameters")
    name = configs.get(config, "model.target")
    if name is None:
        need("transformers", "a Hugging Face model")
        from . import hugging_face

        model = hugging_face.build_model(config, "meta")
    else:
        model = target(name.partition(":")[0] + ":make")(config, "meta")
    return sum(p.numel() for p in model.parameters())


def _run(args):
    from . import run

    result = run.run(configs.load(args.config, args.sets), args.kineto)
    if args.json:
        print(json.dumps(result))
        return
    parameters = f", {result['parameters']:,} parameters" if result["parameters"] else ""
    print(f"{result['name']}{parameters}")
    for label, stage in result["stages"].items():
        print(f"  {label:22} {stage['count']:5} x  median {stage['median_ms']:10.3f} ms")


def main(arguments=None):
    args = _parser().parse_args(arguments)
    try:
        if args.command == "list":
            _list(args)
        elif args.command == "show":
            _show(args)
        elif args.command == "count":
            config = configs.load(args.config, args.sets)
            found = count(config)
            print(json.dumps({"name": config["name"], "parameters": found}) if args.json else f"{config['name']}: {found:,} parameters")
        else:
            _run(args)
    except configs.ConfigError as e:
        print(f"neurolens.models: {e}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
