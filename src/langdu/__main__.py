from langdu.cli import main

main()
