def missing(entry: dict, arguments: dict) -> list:
    return ["confirm"] if entry["confirm"] and arguments.get("confirm") is not True else []
